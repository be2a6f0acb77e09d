package dev.queuewarden.oracle;

import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.deploy.SparkSubmitArguments;
import scala.collection.JavaConverters;

/** Reads a command line of spark-submit as its two parsers do: the launcher's, and then SparkSubmit's. */
final class Submit {
  private Submit() {}

  static final class Question {
    /** The arguments of the program. */
    public List<String> arguments = List.of();
  }

  static final class Answer {
    public String deployMode;
    public String mainClass;
    /** The settings, in their order. */
    public Map<String, String> settings = new TreeMap<>();
  }

  static Answer answer(Question question) {
    // bin/spark-class runs what org.apache.spark.launcher.Main prints.
    var arguments = JavaConverters.asScalaBufferConverter(launched(question.arguments)).asScala().toSeq();
    var read = new SparkSubmitArguments(arguments, scala.collection.immutable.Map$.MODULE$.<String, String>empty());
    var answer = new Answer();
    answer.deployMode = read.deployMode();
    answer.mainClass = read.mainClass();
    answer.settings.putAll(JavaConverters.mapAsJavaMapConverter(read.sparkProperties()).asJava());
    return answer;
  }

  /** The class is the launcher's own, so that it can only be called by reflection. */
  @SuppressWarnings("unchecked")
  private static List<String> launched(List<String> arguments) {
    try {
      var type = Class.forName("org.apache.spark.launcher.SparkSubmitCommandBuilder");
      var constructor = type.getDeclaredConstructor(List.class);
      constructor.setAccessible(true);
      var method = type.getDeclaredMethod("buildSparkSubmitArgs");
      method.setAccessible(true);
      return (List<String>) method.invoke(constructor.newInstance(arguments));
    } catch (InvocationTargetException thrown) {
      throw new IllegalArgumentException(thrown.getCause());
    } catch (ReflectiveOperationException wrong) {
      throw new IllegalStateException(wrong);
    }
  }
}
