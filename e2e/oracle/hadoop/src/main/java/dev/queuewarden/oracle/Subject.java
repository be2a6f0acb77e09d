package dev.queuewarden.oracle;

import java.util.List;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * A caller. The groups are taken as given; {@code real} is the user who acts in the caller's name, if there
 * is one.
 */
final class Subject {
  public String user = "";
  public List<String> groups = List.of();
  public String real;

  UserGroupInformation information() {
    String[] names = groups.toArray(new String[0]);
    return real == null
        ? UserGroupInformation.createUserForTesting(user, names)
        : UserGroupInformation.createProxyUserForTesting(user, UserGroupInformation.createRemoteUser(real), names);
  }
}
