package dev.queuewarden.oracle;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.security.AccessRequest;
import org.apache.hadoop.yarn.security.AccessType;
import org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer;
import org.apache.hadoop.yarn.security.Permission;
import org.apache.hadoop.yarn.security.PrivilegedEntity;

/**
 * Measures of Hadoop what e2e/compare measures of queuewarden. The argument is the file with the inputs; each
 * line of output is a figure as {@code go test -bench} prints it.
 */
public final class Compare {
  private static final long WARM_UP = 1_000_000_000L;
  private static final long ROUND = 100_000_000L;
  private static final int ROUNDS = 5;

  private Compare() {}

  static final class Inputs {
    public String acl = "";
    public List<Decision> decisions = List.of();
  }

  static final class Decision {
    public String name = "";
    public List<Lists> lists = List.of();
    public String user = "";
    public List<String> groups = List.of();
    public boolean allowed;
  }

  static final class Lists {
    public String path = "";
    public String submit = "";
    public String admin = "";
  }

  public static void main(String[] arguments) throws IOException {
    var json = new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    var inputs = json.readValue(new File(arguments[0]), Inputs.class);
    measure("Parse", () -> new AccessControlList(inputs.acl).getUsers().size() == 20);
    for (Decision decision : inputs.decisions) {
      measure("Decision/" + decision.name, question(decision));
    }
  }

  /** Decides whether the user may submit to or administer the queue, in a ResourceManager's order. */
  private static BooleanSupplier question(Decision decision) {
    var authorizer = new ConfiguredYarnAuthorizer();
    authorizer.init(new Configuration(false));
    authorizer.setPermission(permissions(decision.lists), null);
    var user =
        UserGroupInformation.createUserForTesting(decision.user, decision.groups.toArray(new String[0]));
    var path = decision.lists.get(0).path;
    return () ->
        (allows(authorizer, user, path, AccessType.SUBMIT_APP)
                || allows(authorizer, user, path, AccessType.ADMINISTER_QUEUE))
            == decision.allowed;
  }

  private static boolean allows(
      ConfiguredYarnAuthorizer authorizer, UserGroupInformation user, String path, AccessType type) {
    return authorizer.checkPermission(
        new AccessRequest(entity(path), user, type, "application", "", null, null));
  }

  private static List<Permission> permissions(List<Lists> queues) {
    List<Permission> permissions = new ArrayList<>();
    for (Lists queue : queues) {
      Map<AccessType, AccessControlList> acls = new HashMap<>();
      acls.put(AccessType.SUBMIT_APP, new AccessControlList(queue.submit));
      acls.put(AccessType.ADMINISTER_QUEUE, new AccessControlList(queue.admin));
      permissions.add(new Permission(entity(queue.path), acls));
    }
    return permissions;
  }

  private static PrivilegedEntity entity(String queue) {
    return new PrivilegedEntity(PrivilegedEntity.EntityType.QUEUE, queue);
  }

  /** Measures the fastest of some rounds, after a warm-up for the compiler. */
  private static void measure(String name, BooleanSupplier work) {
    repeat(work, WARM_UP);
    double fastest = Double.MAX_VALUE;
    for (int round = 0; round < ROUNDS; round++) {
      fastest = Math.min(fastest, repeat(work, ROUND));
    }
    System.out.printf(java.util.Locale.ROOT, "Benchmark%s 1 %.1f ns/op%n", name, fastest);
  }

  /** Returns the nanoseconds of a call, over as many calls as the time allows. */
  private static double repeat(BooleanSupplier work, long time) {
    long begin = System.nanoTime();
    long calls = 0;
    long spent;
    do {
      for (int i = 0; i < 100; i++) {
        if (!work.getAsBoolean()) {
          throw new IllegalStateException("another answer");
        }
      }
      calls += 100;
      spent = System.nanoTime() - begin;
    } while (spent < time);
    return (double) spent / calls;
  }
}
