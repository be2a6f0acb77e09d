package dev.queuewarden.oracle;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.api.records.ApplicationAccessType;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.security.AccessRequest;
import org.apache.hadoop.yarn.security.AccessType;
import org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer;
import org.apache.hadoop.yarn.security.Permission;
import org.apache.hadoop.yarn.security.PrivilegedEntity;
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager;

/**
 * Decides access to an application with the classes that the ResourceManager uses: {@link
 * ApplicationACLsManager} and {@link ConfiguredYarnAuthorizer}. It combines their answers as ClientRMService
 * does (checkAccess, moveApplicationAcrossQueues, accessToTargetQueueAllowed), with the switch and the
 * missing target queue of QueueACLsManager.
 */
final class Application {
  private Application() {}

  static final class Queue {
    public String path = "";
    public String submit;
    public String admin;
  }

  static final class Question {
    /** The settings, as in yarn-site.xml; the rest is YARN's default. */
    public Map<String, String> configuration = Map.of();
    public String owner = "";
    public String view;
    public String modify;
    public List<Queue> queues = List.of();
    public String queue = "";
    public String target = "";
    public List<Subject> subjects = List.of();
  }

  static final class Answer {
    public boolean view;
    public boolean modify;
    public boolean logs;
    public boolean move;
  }

  static List<Answer> answer(Question question) {
    var asked = new Asked(question);
    List<Answer> answers = new ArrayList<>();
    for (Subject subject : question.subjects) {
      answers.add(asked.of(subject.information()));
    }
    return answers;
  }

  private static final class Asked {
    private final Question question;
    private final ApplicationACLsManager applications;
    private final ConfiguredYarnAuthorizer authorizer = new ConfiguredYarnAuthorizer();
    private final ApplicationId id = new Id();

    Asked(Question question) {
      this.question = question;
      var configuration = new Configuration(false);
      question.configuration.forEach(configuration::set);
      applications = new ApplicationACLsManager(configuration);
      applications.addApplication(id, acls());
      authorizer.init(configuration);
      authorizer.setPermission(permissions(), null);
    }

    private Map<ApplicationAccessType, String> acls() {
      Map<ApplicationAccessType, String> acls = new EnumMap<>(ApplicationAccessType.class);
      if (question.view != null) {
        acls.put(ApplicationAccessType.VIEW_APP, question.view);
      }
      if (question.modify != null) {
        acls.put(ApplicationAccessType.MODIFY_APP, question.modify);
      }
      return acls;
    }

    private List<Permission> permissions() {
      List<Permission> permissions = new ArrayList<>();
      for (Queue queue : question.queues) {
        Map<AccessType, AccessControlList> acls = new HashMap<>();
        acls.put(AccessType.SUBMIT_APP, new AccessControlList(queue.submit));
        acls.put(AccessType.ADMINISTER_QUEUE, new AccessControlList(queue.admin));
        permissions.add(new Permission(entity(queue.path), acls));
      }
      return permissions;
    }

    Answer of(UserGroupInformation caller) {
      boolean administers = inQueue(caller, AccessType.ADMINISTER_QUEUE, question.queue);
      var answer = new Answer();
      answer.logs = onApplication(caller, ApplicationAccessType.VIEW_APP);
      answer.view = answer.logs || administers;
      answer.modify = onApplication(caller, ApplicationAccessType.MODIFY_APP) || administers;
      answer.move = answer.modify && intoTarget(caller);
      return answer;
    }

    private boolean onApplication(UserGroupInformation caller, ApplicationAccessType type) {
      return applications.checkAccess(caller, type, question.owner, id);
    }

    private boolean inQueue(UserGroupInformation caller, AccessType type, String queue) {
      return !applications.areACLsEnabled()
          || authorizer.checkPermission(
              new AccessRequest(entity(queue), caller, type, id.toString(), "", null, null));
    }

    /**
     * With the switch off nobody checks whether the queue exists; the scheduler then refuses the move.
     */
    private boolean intoTarget(UserGroupInformation caller) {
      boolean exists = question.queues.stream().anyMatch(queue -> queue.path.equals(question.target));
      return exists
          && (inQueue(caller, AccessType.SUBMIT_APP, question.target)
              || inQueue(caller, AccessType.ADMINISTER_QUEUE, question.target));
    }

    private static PrivilegedEntity entity(String queue) {
      return new PrivilegedEntity(PrivilegedEntity.EntityType.QUEUE, queue);
    }
  }

  /** The records that YARN makes need all of its protocol buffers; nothing here needs more than a key. */
  private static final class Id extends ApplicationId {
    @Override
    public int getId() {
      return 1;
    }

    @Override
    protected void setId(int id) {}

    @Override
    public long getClusterTimestamp() {
      return 1;
    }

    @Override
    protected void setClusterTimestamp(long timestamp) {}

    @Override
    protected void build() {}
  }
}
