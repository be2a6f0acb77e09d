package dev.queuewarden.oracle;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.util.XMLUtils;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.security.AccessRequest;
import org.apache.hadoop.yarn.security.AccessType;
import org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer;
import org.apache.hadoop.yarn.security.Permission;
import org.apache.hadoop.yarn.security.PrivilegedEntity;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FSQueueType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.allocation.AllocationFileParser;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.allocation.AllocationFileQueueParser;

/**
 * Reads the queues that a scheduler's file declares with the schedulers' own parsers, and decides access to
 * them with {@link ConfiguredYarnAuthorizer}. The code between follows AllocationFileLoaderService and
 * FairScheduler (a root that is not written is open to everyone) and CapacitySchedulerQueueManager (queues
 * below queues).
 */
final class Queues {
  private static final String ROOT = "root";

  private Queues() {}

  static final class Question {
    /** fair-scheduler.xml, or capacity-scheduler.xml. */
    public String file = "";
    /** yarn-site.xml, over which the latter is read. */
    public String site;
    public List<Subject> subjects = List.of();
  }

  static final class Queue {
    public String path;
    public String submit;
    public String admin;
    /** May submit, by either ACL of a queue on the way; one per subject. */
    public List<Boolean> submits = new ArrayList<>();
    /** May administer. */
    public List<Boolean> administers = new ArrayList<>();
  }

  static List<Queue> fair(Question question) {
    try {
      var factory = XMLUtils.newSecureDocumentBuilderFactory();
      factory.setIgnoringComments(true);
      var builder = factory.newDocumentBuilder();
      builder.setErrorHandler(null);
      var root = builder.parse(stream(question.file)).getDocumentElement();
      if (!"allocations".equals(root.getTagName())) {
        throw new IllegalStateException("top-level element not <allocations>");
      }
      var parser = new AllocationFileParser(root.getChildNodes());
      parser.parse();
      var properties = new AllocationFileQueueParser(parser.getQueueElements()).parse();
      Set<String> paths = new TreeSet<>(Set.of(ROOT));
      for (FSQueueType type : FSQueueType.values()) {
        paths.addAll(properties.getConfiguredQueues().get(type));
      }
      Map<String, Map<AccessType, AccessControlList>> acls = new HashMap<>();
      acls.put(ROOT, both(new AccessControlList("*"), new AccessControlList("*")));
      acls.putAll(properties.getQueueAcls());
      return decided(question, paths, acls);
    } catch (RuntimeException thrown) {
      throw thrown;
    } catch (Exception thrown) {
      throw new IllegalStateException(thrown);
    }
  }

  static List<Queue> capacity(Question question) {
    var site = new Configuration(false);
    if (question.site != null) {
      site.addResource(stream(question.site));
    }
    var configuration = new CapacitySchedulerConfiguration(site, false);
    configuration.addResource(stream(question.file));
    Set<String> paths = new TreeSet<>();
    Map<String, Map<AccessType, AccessControlList>> acls = new HashMap<>();
    Deque<String> next = new ArrayDeque<>(List.of(ROOT));
    while (!next.isEmpty()) {
      String path = next.pop();
      if (paths.add(path)) {
        acls.put(
            path,
            both(
                configuration.getAcl(path, QueueACL.SUBMIT_APPLICATIONS),
                configuration.getAcl(path, QueueACL.ADMINISTER_QUEUE)));
        String[] below = configuration.getQueues(path);
        for (String name : below == null ? new String[0] : below) {
          next.push(path + "." + name);
        }
      }
    }
    return decided(question, paths, acls);
  }

  private static List<Queue> decided(
      Question question, Set<String> paths, Map<String, Map<AccessType, AccessControlList>> acls) {
    var authorizer = new ConfiguredYarnAuthorizer();
    authorizer.init(new Configuration(false));
    List<Permission> permissions = new ArrayList<>();
    acls.forEach((path, queue) -> permissions.add(new Permission(entity(path), queue)));
    authorizer.setPermission(permissions, null);
    List<Queue> queues = new ArrayList<>();
    for (String path : paths) {
      var queue = new Queue();
      queue.path = path;
      queue.submit = acls.get(path).get(AccessType.SUBMIT_APP).getAclString();
      queue.admin = acls.get(path).get(AccessType.ADMINISTER_QUEUE).getAclString();
      for (Subject subject : question.subjects) {
        var caller = subject.information();
        boolean administers = allows(authorizer, caller, AccessType.ADMINISTER_QUEUE, path);
        queue.administers.add(administers);
        queue.submits.add(allows(authorizer, caller, AccessType.SUBMIT_APP, path) || administers);
      }
      queues.add(queue);
    }
    return queues;
  }

  private static boolean allows(
      ConfiguredYarnAuthorizer authorizer, UserGroupInformation caller, AccessType type, String path) {
    return authorizer.checkPermission(new AccessRequest(entity(path), caller, type, "", "", null, null));
  }

  private static Map<AccessType, AccessControlList> both(AccessControlList submit, AccessControlList admin) {
    Map<AccessType, AccessControlList> acls = new EnumMap<>(AccessType.class);
    acls.put(AccessType.SUBMIT_APP, submit);
    acls.put(AccessType.ADMINISTER_QUEUE, admin);
    return acls;
  }

  private static PrivilegedEntity entity(String queue) {
    return new PrivilegedEntity(PrivilegedEntity.EntityType.QUEUE, queue);
  }

  private static InputStream stream(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }
}
