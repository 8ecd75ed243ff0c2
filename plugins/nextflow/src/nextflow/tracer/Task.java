// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import nextflow.processor.TaskConfig;
import nextflow.processor.TaskHandler;
import nextflow.processor.TaskRun;
import nextflow.util.Duration;
import nextflow.util.MemoryUnit;

/** What Nextflow knows of a task, and what the service has said of it. */
final class Task {
  /** Longer texts are cut by the service; a line of JSON must end somewhere. */
  private static final int MOST_CHARS = 2000;

  final String id;
  final String hash;
  final String name;
  final Map<String, Object> context = new LinkedHashMap<>();
  final Map<String, Object> requested = new LinkedHashMap<>();
  /** On this host's file system; null: it has none there. */
  final Path folder;

  String key;  // Of the service; null: it has given none.
  boolean started;  // By Nextflow's word.
  Map<?, ?> row = Map.of();
  Map<?, ?> finding = Map.of();

  String state;  // Null: it has not ended.
  Integer exit;
  long millis;  // Nextflow's own measure of the time that it ran; 0: it has none.
  boolean again;
  long endedAt;

  Task(TaskHandler handler, Map<String, Object> run, String sample) {
    TaskRun task = handler.getTask();
    TaskConfig config = task.getConfig();
    id = idOf(task);
    hash = quietly(task::getHashLog);
    name = quietly(task::getName);
    Path path = task.getWorkDir();
    folder = path != null && path.getFileSystem() == FileSystems.getDefault() ? path : null;

    context.putAll(run);
    put(context, "step", quietly(() -> task.getProcessor().getName()));
    put(context, "task", name);
    put(context, "task_id", id);
    put(context, "attempt", quietly(config::getAttempt));
    String tag = text(quietly(() -> config.get("tag")));
    put(context, "sample", sample.equals("tag") ? tag : text(quietly(() -> input(task, sample))));
    Map<String, Object> labels = new LinkedHashMap<>();
    put(labels, "tag", tag);
    put(labels, "queue", text(quietly(() -> config.get("queue"))));
    if (!labels.isEmpty()) context.put("labels", labels);

    put(requested, "millicpus", quietly(() -> 1000 * config.getCpus()));
    MemoryUnit memory = quietly(config::getMemory);
    put(requested, "memory_bytes", memory == null ? null : memory.toBytes());
    Duration time = quietly(config::getTime);
    put(requested, "time_ns", time == null ? null : time.toMillis() * 1_000_000);
    put(requested, "container", quietly(task::getContainer));
    put(requested, "tag", tag);
  }

  void end(TaskHandler handler, String how) {
    TaskRun task = handler.getTask();
    state = how;
    Integer status = task.getExitStatus();
    exit = status == null || status == Integer.MAX_VALUE ? null : status;
    millis = handler.getStartTimeMillis() <= 0 ? 0 : handler.getCompleteTimeMillis() - handler.getStartTimeMillis();
    again = "RETRY".equals(String.valueOf(task.getErrorAction()));
    endedAt = System.nanoTime();
  }

  /** Of both folders that name it, as libtracer's own rule has it: ab/0123… */
  static String idOf(TaskRun task) {
    Path path = task.getWorkDir();
    int names = path == null ? 0 : path.getNameCount();
    if (names >= 2) return path.getName(names - 2) + "/" + path.getName(names - 1);
    String hash = task.getHash() == null ? "" : task.getHash().toString();
    return hash.length() > 2 ? hash.substring(0, 2) + "/" + hash.substring(2) : "task " + task.getId();
  }

  /** Processes know it by its path without links. */
  static String real(Path folder) {
    String real = quietly(() -> folder.toRealPath().toString());
    return real == null ? folder.toString() : real;
  }

  /** "meta.id": the value `id` of the input `meta`. */
  private static Object input(TaskRun task, String path) {
    Object value = task.getContext().getHolder();
    for (String name : path.split("\\.")) value = value instanceof Map<?, ?> map ? map.get(name) : null;
    return value instanceof CharSequence || value instanceof Number ? value : null;
  }

  static void put(Map<String, Object> map, String name, Object value) {
    if (value instanceof String text) value = sendable(text);
    if (value != null && !value.equals("")) map.put(name, value);
  }

  /** Valid UTF-8 without NUL. */
  private static String sendable(String text) {
    String cut = text.substring(0, Math.min(text.length(), MOST_CHARS)).replace('\0', ' ');
    return new String(cut.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }

  private static String text(Object value) {
    return value == null ? null : value.toString();
  }

  /** Null where the pipeline's own code fails, or Nextflow has no such method any more. */
  private static <T> T quietly(Callable<T> get) {
    try {
      return get.call();
    } catch (Throwable e) {
      return null;
    }
  }
}
