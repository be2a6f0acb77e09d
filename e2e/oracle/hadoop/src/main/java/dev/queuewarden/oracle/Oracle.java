package dev.queuewarden.oracle;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Gives the answers of Apache Hadoop and Apache Spark to inputs on standard input. queuewarden's own model of
 * them is compared with these.
 *
 * <p>One request per line, {"op": "acl", "in": [...]}; one answer per line, in order: {"out": [...]} with one
 * element per element of "in", or {"error": "..."} when the request itself is wrong. The program ends with
 * its input.
 */
public final class Oracle {
  private static final ObjectMapper JSON =
      new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);

  private static final Map<String, Function<JsonNode, List<Object>>> OPERATIONS =
      Map.of(
          "acl", each(new TypeReference<List<Acl.Question>>() {}, Acl::answer),
          "application", each(new TypeReference<List<Application.Question>>() {}, Application::answer),
          "fair", each(new TypeReference<List<Queues.Question>>() {}, Queues::fair),
          "capacity", each(new TypeReference<List<Queues.Question>>() {}, Queues::capacity),
          "spark", each(new TypeReference<List<Spark.Question>>() {}, Spark::answer),
          "submit", each(new TypeReference<List<Submit.Question>>() {}, Submit::answer));

  private Oracle() {}

  public static void main(String[] arguments) throws IOException {
    var questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var answers = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
    for (String line = questions.readLine(); line != null; line = questions.readLine()) {
      answers.write(JSON.writeValueAsString(process(line)));
      answers.newLine();
      answers.flush();
    }
  }

  private static Map<String, Object> process(String line) {
    try {
      JsonNode request = JSON.readTree(line);
      String name = request.path("op").asText();
      var operation = OPERATIONS.get(name);
      return operation == null
          ? Map.of("error", "unknown op " + name)
          : Map.of("out", operation.apply(request.path("in")));
    } catch (IOException | IllegalArgumentException wrong) {
      return Map.of("error", String.valueOf(wrong.getMessage()));
    }
  }

  /** Turns an operation on one input into one on a list. An exception inside is an answer, too. */
  private static <Q> Function<JsonNode, List<Object>> each(TypeReference<List<Q>> type, Function<Q, Object> one) {
    return inputs -> {
      List<Object> outputs = new ArrayList<>();
      for (Q question : JSON.convertValue(inputs, type)) {
        outputs.add(guarded(question, one));
      }
      return outputs;
    };
  }

  private static <Q> Object guarded(Q question, Function<Q, Object> one) {
    try {
      return one.apply(question);
    } catch (RuntimeException thrown) {
      return Map.of("exception", thrown.toString());
    }
  }
}
