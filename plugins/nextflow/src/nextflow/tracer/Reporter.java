// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import nextflow.Session;
import nextflow.exception.AbortSignalException;
import nextflow.processor.TaskHandler;
import nextflow.processor.TaskRun;
import nextflow.script.ScriptType;
import nextflow.script.WorkflowMetadata;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports a run and its tasks to the service. Nextflow's threads only put what happens into a bounded queue; a thread of
 * its own asks the service. Nothing here throws into Nextflow, which would lose it, or waits, but for the end of the run.
 */
final class Reporter {
  private static final Logger log = LoggerFactory.getLogger(Reporter.class);
  private static final int MOST_WAITING = 10_000;
  private static final long SECOND = 1_000_000_000;
  private static final long ANSWER_NS = 2 * SECOND;
  private static final long AGAIN_NS = 5 * SECOND;  // Until the next try to connect.
  private static final long LOOK_NS = SECOND / 2;  // Between two looks at the state.
  private static final long PATIENCE_NS = 2 * SECOND;  // For the figures of a task that has ended.
  private static final long QUEUED_S = 30 * 86_400;
  private static final long DAY_MS = 86_400_000;
  private static final int MOST_FINDINGS = 1000;
  private static final int MOST_SHOWN = 3;
  private static final int MOST_PARTS = 64;  // Of one look.
  private static final List<String> FIGURES = List.of("task_id", "run_id", "state", "wall_ns", "cpu_ns", "memory_bytes");

  private final Options options;
  private final BlockingQueue<Runnable> queue = new ArrayBlockingQueue<>(MOST_WAITING);
  private final Set<String> warned = new HashSet<>();
  private final Thread worker = new Thread(this::work, "tracer");
  private final Map<String, Object> run = new LinkedHashMap<>();
  private Session session;
  private volatile long deadline;  // Of the end; 0: the run has not ended.

  // The worker's alone.
  private final Map<String, Task> tasks = new LinkedHashMap<>();  // Those whose line is not written, by their ids.
  private final List<Map<String, Object>> unsent = new ArrayList<>();  // Ends, for a service that has kept the tasks.
  private final Map<Object, Map<?, ?>> findings = new LinkedHashMap<>();
  private final Map<String, Integer> ended = new TreeMap<>();
  private Service service;
  private boolean older;  // It knows no `submit`.
  private boolean seesAll;
  private boolean blind;  // It knows no `state`.
  private String runKey;
  private String since = "";
  private long nextTry = System.nanoTime();
  private long nextLook = System.nanoTime();

  Reporter(Options options) {
    this.options = options;
    worker.setDaemon(true);
  }

  void begin(Session session) {
    guarded(() -> {
      if (worker.getState() != Thread.State.NEW) return;
      this.session = session;
      WorkflowMetadata flow = session.getWorkflowMetadata();
      String id = session.getUniqueId().toString();
      Task.put(run, "engine", "nextflow");
      // A resumed run has the id of the one before.
      Task.put(run, "run_id", session.isResumeMode() ? id + "/" + session.getRunName() : id);
      Task.put(run, "run", session.getRunName());
      Task.put(run, "pipeline", flow != null && flow.getRepository() != null ? flow.getProjectName() : session.getScriptName());
      put(this::connected);
      worker.start();
    });
  }

  void submitted(Object event) {
    guarded(() -> {
      TaskHandler handler = Observers.handler(event);
      if (!hasProcesses(handler)) return;
      Task task = new Task(handler, run, options.sample());
      put(() -> submit(task));
    });
  }

  void started(Object event) {
    guarded(() -> {
      TaskHandler handler = Observers.handler(event);
      if (!hasProcesses(handler)) return;
      String id = Task.idOf(handler.getTask());
      put(() -> started(id));
    });
  }

  void completed(Object event) {
    guarded(() -> {
      TaskHandler handler = Observers.handler(event);
      if (!hasProcesses(handler)) return;
      TaskRun task = handler.getTask();
      withdraw(handler, task.isFailed() ? "failed" : task.isAborted() ? "aborted" : "succeeded");
    });
  }

  void cached(Object event) {
    guarded(() -> {
      TaskHandler handler = Observers.handler(event);
      if (hasProcesses(handler)) withdraw(handler, "cached");
    });
  }

  /** Neither an array of jobs, whose elements are the tasks, nor code that Nextflow runs itself (`exec:`). */
  private static boolean hasProcesses(TaskHandler handler) {
    return handler != null && !handler.getTask().isArray() && handler.getTask().getType() != ScriptType.GROOVY;
  }

  private void withdraw(TaskHandler handler, String state) {
    Task task = new Task(handler, run, options.sample());
    task.end(handler, state);
    put(() -> withdraw(task));
  }

  void end() {
    guarded(() -> {
      deadline = System.nanoTime() + ANSWER_NS;
      queue.offer(() -> {});  // Wakes the worker up.
      worker.join(ANSWER_NS / 1_000_000);
    });
  }

  private interface Work {
    void run() throws Exception;
  }

  private void guarded(Work work) {
    try {
      work.run();
    } catch (Throwable e) {
      log.debug("tracer", e);
      warn("failure", "an event of the run was not reported: " + e);
    }
  }

  private void put(Runnable work) {
    if (!queue.offer(work)) warn("full", "events of the run are not reported, as the service is too slow");
  }

  private void warn(String kind, String text) {
    synchronized (warned) {
      if (warned.add(kind)) log.warn("tracer: " + text);
    }
  }

  private void work() {
    boolean last = false;
    while (!last) {
      guarded(() -> {
        Runnable next = queue.poll(LOOK_NS, TimeUnit.NANOSECONDS);
        if (next != null) next.run();
        else idle();
      });
      last = deadline != 0 && (queue.isEmpty() || System.nanoTime() > deadline);
      if (!last && System.nanoTime() > nextLook) guarded(() -> report(false));
    }
    guarded(this::finish);
    if (service != null) service.close();
  }

  private void submit(Task task) {
    if (tasks.putIfAbsent(task.id, task) == null && connected()) send(task);
  }

  private void send(Task task) {
    if (!older) {
      Map<?, ?> reply = ask("submit", Map.of("context", task.context, "requested", task.requested));
      if (reply != null) task.key = (String) reply.get("task_key");
    }
    announce(task);
    if (task.started) announceAgain(task);
  }

  private void started(String id) {
    Task task = tasks.get(id);
    if (task == null || task.started) return;
    boolean connected = connected();
    task.started = true;
    if (connected) announceAgain(task);
  }

  /** From now on, a task without a process here runs elsewhere. An older service has this from the first time. */
  private void announceAgain(Task task) {
    if (!older) announce(task);
  }

  private void announce(Task task) {
    if (task.folder == null || task.state != null) return;
    Map<String, Object> keys = new LinkedHashMap<>();
    keys.put("key", Map.of("work_dir", Task.real(task.folder)));
    keys.put("context", task.context);
    keys.put("requested", task.requested);
    if (!older) keys.put("expires_after_s", QUEUED_S);
    ask("announce", keys);
  }

  private void idle() {
    try {
      if (service != null) service.check();
    } catch (IOException e) {
      lost(e);
    }
    connected();
  }

  /** What has ended has the names of then; the service's key is that of its submission. */
  private void withdraw(Task task) {
    boolean connected = connected();
    Task before = tasks.remove(task.id);
    // Nextflow itself says what was cached.
    if (!task.state.equals("cached")) tasks.put(task.id, task);
    ended.merge(task.state, 1, Integer::sum);
    if (before != null) {
      task.key = before.key;
      task.row = before.row;
      task.finding = before.finding;
    } else if (connected && !older) {
      send(task);
    }
    if (task.key == null) return;
    Map<String, Object> keys = new LinkedHashMap<>(Map.of("task_key", task.key, "state", task.state));
    if (task.exit != null) keys.put("exit_code", task.exit);
    if (ask("withdraw", keys) == null && service == null && unsent.size() < MOST_WAITING) unsent.add(keys);
  }

  /** Writes the lines of tasks that have ended, and whose figures are there, or come no more. */
  private void report(boolean last) {
    nextLook = System.nanoTime() + LOOK_NS;
    boolean none = tasks.values().stream().noneMatch(task -> task.state != null);
    if (none && !last) return;
    look();
    long now = System.nanoTime();
    for (Iterator<Task> each = tasks.values().iterator(); each.hasNext();) {
      Task task = each.next();
      if (task.state == null) continue;
      boolean whole = "finished".equals(task.row.get("state")) && now - task.endedAt > LOOK_NS;
      boolean hopeless = service == null || now - task.endedAt > PATIENCE_NS;
      if (!last && !whole && !hopeless) continue;
      if (service != null) log.info(Lines.of(task));
      each.remove();
    }
  }

  private void look() {
    boolean more = true;
    for (int part = 0; part < MOST_PARTS && more && !blind && connected(); ++part) {
      Map<?, ?> reply = ask("state", Map.of("since", since, "rows", List.of("tasks", "findings"), "fields", FIGURES));
      Map<?, ?> state = note(reply);
      for (Map<?, ?> row : own(state.get("tasks"))) {
        Task task = tasks.get(row.get("task_id"));
        if (task != null) task.row = row;
      }
      for (Map<?, ?> finding : own(state.get("findings"))) {
        if (findings.size() < MOST_FINDINGS) findings.put(finding.get("finding_key"), finding);
        Task task = tasks.get(finding.get("task_id"));
        if (task != null && Lines.isBetter(task, finding)) task.finding = finding;
      }
      more = Boolean.TRUE.equals(state.get("more"));
    }
  }

  /** The state of a reply; the next question goes on from there. */
  private Map<?, ?> note(Map<?, ?> reply) {
    if (reply == null || !(reply.get("state") instanceof Map<?, ?> state)) return Map.of();
    since = String.valueOf(state.get("since"));
    return state;
  }

  /** The rows of this run. */
  private List<Map<?, ?>> own(Object rows) {
    List<Map<?, ?>> found = new ArrayList<>();
    if (rows instanceof List<?> list)
      for (Object each : list) if (each instanceof Map<?, ?> row && run.get("run_id").equals(row.get("run_id"))) found.add(row);
    return found;
  }

  private void finish() {
    ask("flush", Map.of());
    report(true);
    String state = session.isSuccess() ? "succeeded" : session.getError() instanceof AbortSignalException ? "aborted" : "failed";
    if (runKey != null) ask("withdraw", Map.of("run_key", runKey, "state", state));
    if (service == null) return;
    List<String> counts = new ArrayList<>();
    ended.forEach((how, count) -> counts.add(count + " " + how));
    log.info("tracer: {} {}; tasks: {}", run.get("run"), state, counts.isEmpty() ? "none" : String.join(", ", counts));
    List<Map<?, ?>> worst = new ArrayList<>(findings.values());
    worst.removeIf(finding -> "note".equals(finding.get("severity")));
    worst.sort((a, b) -> String.valueOf(a.get("severity")).compareTo(String.valueOf(b.get("severity"))));
    for (Map<?, ?> finding : worst.subList(0, Math.min(worst.size(), MOST_SHOWN)))
      log.info("tracer: {}: {}", finding.get("severity"), Lines.text(finding));
    if (worst.size() > MOST_SHOWN) log.info("tracer: {} more findings", worst.size() - MOST_SHOWN);
    // Nothing has been written after tomorrow: no recording comes with the reply.
    Map<?, ?> recordings = ask("recordings", Map.of("since", (System.currentTimeMillis() + DAY_MS) * 1_000_000));
    if (recordings != null && Boolean.TRUE.equals(recordings.get("by_owner")))
      log.info("tracer: more of this run: tracerd report, tracerd why");
    else if (seesAll)
      log.info("tracer: more of this run: in a recording of the service: tracerd report FILE, tracerd why FILE");
  }

  /** Whether there is a connection. A new one is given all that is open: a service that began anew knows nothing. */
  private boolean connected() {
    if (service != null) return true;
    if (System.nanoTime() < nextTry || deadline != 0) return false;
    try {
      service = new Service(options.socket(), until());
      older = false;
      Map<?, ?> hello = ask("hello", Map.of("version", 1));
      if (hello == null) return false;
      seesAll = "all".equals(hello.get("sees"));
      if (since.isEmpty()) note(ask("state", Map.of("rows", List.of("counts"))));  // What was before is not asked for.
      Map<?, ?> reply = ask("submit", Map.of("context", run));
      if (reply != null) runKey = (String) reply.get("run_key");
      if (isOfHost()) ask("announce", Map.of("key", Map.of("pid", ProcessHandle.current().pid()), "context", run));
      while (!unsent.isEmpty() && service != null) ask("withdraw", unsent.remove(unsent.size() - 1));
      for (Task task : tasks.values()) if (service != null && task.state == null) send(task);
    } catch (IOException e) {
      lost(e);
    }
    return service != null;
  }

  /** In a container, this process has another pid for itself than for the service. */
  private static boolean isOfHost() {
    try {
      return Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).endsWith("pid:[4026531836]");
    } catch (IOException e) {
      return false;
    }
  }

  private long until() {
    long answer = System.nanoTime() + ANSWER_NS;
    return deadline == 0 ? answer : Math.min(answer, deadline);
  }

  /** Null: it was refused, or there is no connection. */
  private Map<?, ?> ask(String name, Map<String, ?> keys) {
    if (service == null) return null;
    try {
      return service.ask(name, keys, until());
    } catch (Service.Refusal refusal) {
      refused(name, refusal);
    } catch (IOException e) {
      lost(e);
    }
    return null;
  }

  private void refused(String name, Service.Refusal refusal) {
    boolean unknown = refusal.code.equals("TRC142") && refusal.getMessage().startsWith("there is no request");
    if (unknown && name.equals("submit")) {
      older = true;
      warn("older", "the service is older: it shows tasks once they start, not those that wait [TRC142]");
    } else if (unknown && name.equals("state")) {
      blind = true;
    } else if (!unknown || !name.equals("recordings")) {
      warn("service", "the service at " + options.socket() + " refuses " + name + ": " + refusal.getMessage());
      if (name.equals("hello")) close();
    }
  }

  private void lost(IOException e) {
    warn("service", "can't use the service at " + options.socket() + ": " + e.getMessage()
        + "; the run goes on without it [TRC140]. Start it: sudo systemctl start tracerd");
    close();
  }

  private void close() {
    if (service != null) service.close();
    service = null;
    nextTry = System.nanoTime() + AGAIN_NS;
  }
}
