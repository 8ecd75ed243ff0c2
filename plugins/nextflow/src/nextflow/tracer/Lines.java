// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import java.util.Locale;
import java.util.Map;
import nextflow.util.Duration;
import nextflow.util.MemoryUnit;

/** What people read of a task that has ended. Figures that are not known are left out. */
final class Lines {
  private static final int MOST_CHARS = 100;

  private Lines() {}

  /** In the form of Nextflow's own lines: where it draws its table of processes, it shows those with NOTE alone. */
  static String of(Task task) {
    boolean ok = task.state.equals("succeeded");
    boolean killed = "oom_kill".equals(task.finding.get("code"));
    boolean says = !killed && rank(task.finding) > (ok ? 1 : 0);
    String memory = memory(task);
    StringBuilder line = new StringBuilder("[" + task.hash + "] " + (ok && !killed && !says ? "" : "NOTE: "));
    line.append(shown(task.name)).append(' ').append(task.state);
    if (!ok && task.exit != null) line.append(" (exit ").append(task.exit).append(')');
    if (killed) line.append(ok ? ", but a process in it was" : ",").append(" killed: out of memory");
    if (killed && !memory.isEmpty()) line.append(" at ").append(memory);
    String between = ": ";
    for (String part : new String[] {time(task), cpu(task), killed || memory.isEmpty() ? "" : "memory " + memory}) {
      if (part.isEmpty()) continue;
      line.append(between).append(part);
      between = ", ";
    }
    if (says) line.append("; ").append(text(task.finding));
    return line.append(task.again ? "; it is tried again" : "").toString();
  }

  /** Whether a finding says more of how a task ended than the one that is known. */
  static boolean isBetter(Task task, Map<?, ?> finding) {
    return rank(finding) > rank(task.finding);
  }

  private static int rank(Map<?, ?> finding) {
    if ("oom_kill".equals(finding.get("code"))) return 3;
    if ("error".equals(finding.get("severity"))) return 2;
    return "first_failure".equals(finding.get("code")) ? 1 : 0;
  }

  static String text(Map<?, ?> finding) {
    return String.valueOf(finding.get("text")).replaceAll("\\p{Cntrl}", " ");
  }

  private static String time(Task task) {
    boolean exact = task.row.get("wall_ns") instanceof Number;
    long millis = exact ? number(task.row, "wall_ns").longValue() / 1_000_000 : task.millis;
    return millis <= 0 ? "" : new Duration(millis).toString();
  }

  private static String cpu(Task task) {
    Number used = number(task.row, "cpu_ns");
    if (used == null || !(task.row.get("wall_ns") instanceof Number wall) || wall.longValue() == 0) return "";
    Number asked = (Number) task.requested.get("millicpus");
    return String.format(Locale.ROOT, "CPU %s%.1f", bound(task.row, "cpu_ns"), used.doubleValue() / wall.doubleValue())
        + (asked == null ? "" : " of " + asked.longValue() / 1000);
  }

  /** "5.1 of 8 GB"; a GB is Nextflow's, of 2^30 bytes. */
  private static String memory(Task task) {
    Number used = number(task.row, "memory_bytes");
    if (used == null) return "";
    String text = new MemoryUnit(used.longValue()).toString();
    if (task.requested.get("memory_bytes") instanceof Number asked) {
      String of = new MemoryUnit(asked.longValue()).toString();
      String unit = of.substring(of.indexOf(' ') + 1);
      text = text.replaceFirst(" " + unit + "$", "") + " of " + of;
    }
    return bound(task.row, "memory_bytes") + text;
  }

  private static Number number(Map<?, ?> row, String name) {
    return (row.containsKey(name) ? row.get(name) : row.get(name + "_at_least")) instanceof Number value ? value : null;
  }

  private static String bound(Map<?, ?> row, String name) {
    return row.containsKey(name) ? "" : "≥ ";
  }

  private static String shown(String name) {
    String line = String.valueOf(name).replaceAll("\\p{Cntrl}", " ");
    return line.length() <= MOST_CHARS ? line : line.substring(0, MOST_CHARS) + "…";
  }
}
