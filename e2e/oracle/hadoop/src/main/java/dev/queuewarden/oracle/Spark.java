package dev.queuewarden.oracle;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.apache.spark.security.GroupMappingServiceProvider;
import org.apache.spark.util.Utils;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.immutable.Set;

/** Decides who may view or modify a Spark application, by Spark's own SecurityManager. */
final class Spark {
  private Spark() {}

  static final class Question {
    /** The settings, as in spark-defaults.conf. */
    public Map<String, String> configuration = Map.of();
    /** The text of a spark-defaults.conf, read before it; null for none. */
    public String file;
    /** The user of the driver's process; Spark adds the one of this process. */
    public String owner = "";
    public List<Subject> subjects = List.of();
  }

  static final class Answer {
    public boolean view;
    public boolean modify;
  }

  static List<Answer> answer(Question question) {
    var configuration = new SparkConf(false);
    if (question.file != null) {
      // As spark-submit takes them over: SparkSubmitArguments.ignoreNonSparkProperties.
      read(question.file).forEach((key, value) -> {
        if (key.startsWith("spark.")) {
          configuration.set(key, value);
        }
      });
    }
    question.configuration.forEach(configuration::set);
    configuration.set("spark.user.groups.mapping", Groups.class.getName());
    System.setProperty("user.name", question.owner);
    var manager =
        new org.apache.spark.SecurityManager(
            configuration, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE());
    List<Answer> answers = new ArrayList<>();
    for (Subject subject : question.subjects) {
      Groups.OF.put(subject.user, subject.groups);
      var answer = new Answer();
      answer.view = manager.checkUIViewPermissions(subject.user);
      answer.modify = manager.checkModifyPermissions(subject.user);
      answers.add(answer);
    }
    return answers;
  }

  private static Map<String, String> read(String text) {
    try {
      Path file = Files.createTempFile("spark-defaults", ".conf");
      try {
        Files.writeString(file, text);
        return JavaConverters.mapAsJavaMapConverter(Utils.getPropertiesFromFile(file.toString())).asJava();
      } finally {
        Files.delete(file);
      }
    } catch (IOException wrong) {
      throw new UncheckedIOException(wrong);
    }
  }

  /** Returns the groups of the question. Spark creates an instance whenever it looks up groups. */
  public static final class Groups implements GroupMappingServiceProvider {
    private static final Map<String, List<String>> OF = new HashMap<>();

    @Override
    public Set<String> getGroups(String user) {
      return JavaConverters.asScalaBufferConverter(OF.getOrDefault(user, List.of())).asScala().toSet();
    }
  }
}
