package dev.queuewarden.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.security.authorize.AccessControlList;

/** Reads a text with {@link AccessControlList}, and decides by it. */
final class Acl {
  private Acl() {}

  static final class Question {
    public String acl = "";
    public List<Subject> subjects = List.of();
  }

  static final class Answer {
    public boolean allAllowed;
    public Collection<String> users;
    public Collection<String> groups;
    public String canonical;
    public List<Boolean> access = new ArrayList<>();
  }

  static Answer answer(Question question) {
    var list = new AccessControlList(question.acl);
    var answer = new Answer();
    answer.allAllowed = list.isAllAllowed();
    answer.users = list.getUsers();
    answer.groups = list.getGroups();
    answer.canonical = list.getAclString();
    for (Subject subject : question.subjects) {
      answer.access.add(list.isUserAllowed(subject.information()));
    }
    return answer;
  }
}
