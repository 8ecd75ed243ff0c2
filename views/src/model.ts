// SPDX-License-Identifier: Apache-2.0
/** The document that the page draws: the report's JSON (docs/report.md), or rows of the state (docs/state.md). */
import { type Whole, size } from "./figures";

export type Share = { cause: string; time_ns: Whole; share: number };
export type Requested = { millicpus?: number; memory_bytes?: Whole; time_ns?: Whole; container?: string; tag?: string };
export type PathTask = { task_key: string; name: string; begin_ns: Whole; end_ns?: Whole; last_ns?: Whole };
export type CriticalPath = { basis: string; length_ns_at_least: Whole; length_ns_at_most: Whole; tasks: PathTask[] };

export type Row = {
  name: string; id?: string; in?: string; run_key?: string; task_key?: string; pipeline?: string; run?: string; step?: string; sample?: string;
  task?: string; task_id?: string; attempt?: number; engine?: string; tool?: string; exe?: string; argv?: string[]; pid?: number;
  labels?: Record<string, string>; start_ns?: Whole; processes?: Whole; tasks?: Whole; living?: Whole; failed?: Whole;
  first_start_ns?: Whole; last_end_ns?: Whole; wall_ns?: Whole; time?: Share[]; task_ledger?: Record<string, Whole>;
  waits_for?: { task_key: string; name?: string; wait_ns: Whole; cause: string }[]; without_task_ns?: Whole; critical_path?: CriticalPath;
  bound_by?: string; bound_share?: number; requested?: Requested;
  status?: Status; state?: string; outcome?: string; expected?: Whole; queued_ns?: Whole; submitted_ns?: Whole;
};

export type Evidence = { name: string; value?: Whole; unit?: string; text?: string };
export type Finding = {
  finding_key: string; code: string; severity: "error" | "warning" | "note"; confidence: string; subject: string; state: string; text: string;
  advice?: string; first_ns: Whole; last_ns: Whole; count: Whole; run_key?: string; task_key?: string; step?: string; tool?: string;
  pid?: number; start_ns?: Whole; evidence: Evidence[];
};
export type Failure = Row & {
  exit_code?: number; exit_signal?: number; core_dumped: boolean; oom_killed?: boolean; sent_by?: string; count: Whole; passed_on_by?: string[];
  ignored_by?: string;
};
export type Certificate = {
  tier: string; complete: boolean; exits_seen: Whole; ended?: Whole; losses: Record<string, Whole>; missed_at_most?: Whole;
  damage: Record<string, Whole | boolean>; missing: { family: string; code?: string; what?: string; fix?: string }[];
};
export type FileRow = { path: string; read_by?: string; written_by?: string; opens: Whole };
export type Peer = { tool: string; protocol: string; role?: string; address?: string; port?: number; failed_connects: Whole; error?: number };
export type Device = { name: string; read_bytes: Whole; written_bytes: Whole; span_ns: Whole; busy_ns?: Whole; tool?: string; task?: string; tool_bytes?: Whole };
export type Host = {
  name: string; kernel?: string; cpus?: number; memory_bytes?: Whole; version?: string; wall_offset_ns?: Whole;
};
export type Series = { step?: string; host?: string } & Record<SeriesName, Whole[] | undefined>;
export type SeriesName = "cpu_ns" | "memory_bytes" | "read_bytes" | "written_bytes" | "received_bytes" | "sent_bytes" | "io_wait_ns" | "tasks";
export type OverTime = { start_unix_ns: Whole; part_ns: Whole; parts: number; series: Series[] };
export type Counts = { processes: Whole; living: Whole; failed: Whole; runs: Whole; tasks: Whole; dropped: Whole; lost: Record<string, Whole> };
/** `tracerd why --json` of a task or run. */
export type Why = Row & {
  exit_code?: number; exit_signal?: number; largest?: Process[]; longest?: Process[]; failures?: Process[]; findings?: Finding[];
  neighbors?: (Row & { together_ns: Whole })[]; disk_wait_device?: string;
};
export type Process = Row & {
  begin_ns?: Whole; end_ns?: Whole; last_ns?: Whole; exit_code?: number; exit_signal?: number; parent_pid?: number;
};
/** What `state` says of one key. */
export type Held = { processes?: Process[]; files?: FileRow[]; peers?: Peer[] };

/** Of `runs`: a run of any source; a step's time is the median of its tasks. */
export type ListedRun = Row & { source: string; start_unix_ns?: Whole; findings: { error?: number; warning?: number }; steps: { name: string; tasks: Whole; wall_ns?: Whole }[] };

/** Of `hosts`: what a host of a lake did in a month. */
export type HostMonth = { month: string; host: string; cpus?: number; observed_ns?: Whole; all_cpu_ns?: Whole;
  task_cpu_ns?: Whole; other_cpu_ns?: Whole; idle_cpu_ns?: Whole; tasks: Whole; failed_tasks: Whole };

export type Container = { container_id: string; name?: string; image?: string; runtime?: string; run_key?: string; task_key?: string; task?: string; begin_ns: Whole; end_ns?: Whole; gone_ns?: Whole };

export type Doc = {
  title: string; live?: boolean; lake?: boolean; hosts: Host[]; verdict?: string; certificate?: Certificate; findings: Finding[]; totals?: Row; runs: Row[];
  steps: Row[]; tasks: Row[]; samples: Row[]; tools: Row[]; processes: Row[]; failures: Failure[]; files: FileRow[]; peers: Peer[];
  devices: Device[]; over_time?: OverTime; why?: Record<string, Why>; held?: Record<string, Held>; counts?: Counts; expected_end?: Record<string, { text: string }>;
  waste?: Record<string, number>; waste_cost?: { text: string }; pipes?: { stages: string[]; bottleneck?: string; waited_ns: Whole }[]; cost?: object;
  cgroups?: { path?: string; peak_bytes: Whole }[]; file_systems?: { filesystem: string }[];
  containers?: Container[]; gpus?: { gpu: string; name?: string; tool?: string; task?: string }[]; survivors?: Process[];
};

export const number = (value: Whole | undefined): number => (value === undefined ? 0 : Number(value));

export function docOf(parsed: object): Doc {
  const lists = { title: "", hosts: [], findings: [], runs: [], steps: [], tasks: [], samples: [], tools: [], processes: [], failures: [],
    files: [], peers: [], devices: [] };
  const doc: Doc = { ...lists, ...parsed };
  judgeAll(doc);
  return doc;
}

/** A step of a run, or what of it is in no step. */
export type Group = { key: string; name: string; row: Row | undefined; tasks: Row[] };

/** As words, as icons, and to choose rows by; the same rules as in bindings/python/tracer/view/_model.py. */
export type Status = "running" | "stalled" | "queued" | "failed" | "done" | "cached" | "aborted" | "elsewhere" | "withdrawn" | "expired";

export const kStatuses: Status[] = ["done", "cached", "running", "stalled", "queued", "failed", "aborted", "elsewhere", "withdrawn", "expired"];
export const isOver = (status: Status): boolean => status === "done" || status === "cached" || status === "failed" || status === "aborted";

function judge(row: Row, findings: Finding[]): Status {
  const state = row.state ?? (number(row.living) > 0 ? "running" : "finished");
  if (state === "running") return findings.some((each) => (each.code === "stalled" || each.code === "deadlocked_pipe") && each.state === "open") ? "stalled" : "running";
  if (state !== "finished") return kStatuses.includes(state as Status) ? (state as Status) : "elsewhere";
  if (row.outcome === "failed" || row.outcome === "cached" || row.outcome === "aborted") return row.outcome;
  return row.outcome === undefined && findings.some((each) => each.code === "first_failure") ? "failed" : "done";
}

function judgeAll(doc: Doc): void {
  const about = new Map<string, Finding[]>();
  for (const each of doc.findings) {
    if (each.subject !== "task" && each.subject !== "run") continue;
    const key = each.task_key ?? each.run_key;
    if (key !== undefined) about.set(key, [...(about.get(key) ?? []), each]);
  }
  for (const row of doc.runs) row.status = judge(row, about.get(row.run_key ?? "") ?? []);
  for (const row of doc.tasks) row.status = judge(row, about.get(row.task_key ?? "") ?? []);
}

export const statusOf = (row: Row): Status => row.status ?? judge(row, []);

export const begin = (row: Row): number => number(row.first_start_ns ?? row.start_ns);
export const end = (row: Row): number => (row.last_end_ns === undefined ? begin(row) : number(row.last_end_ns));

export function groupsOf(doc: Doc, runKey: string | undefined): Group[] {
  const groups = new Map<string, Group>();
  const of = (name: string | undefined): Group => {
    const key = name ?? "";
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { key, name: name ?? "in no step", row: undefined, tasks: [] }));
    return group;
  };
  for (const step of doc.steps) if (step.run_key === runKey) of(step.step ?? step.name).row = step;
  for (const task of doc.tasks) if (task.run_key === runKey) of(task.step).tasks.push(task);
  const first = (group: Group): number => (group.row?.first_start_ns !== undefined ? begin(group.row) : Math.min(...group.tasks.map((t) => begin(t) || Infinity)));
  return [...groups.values()].sort((a, b) => first(a) - first(b));
}

/** How many tasks a run will have, as far as its engine has said; undefined: it has not. */
export function expectedOf(groups: Group[]): number | undefined {
  if (!groups.some((group) => group.row?.expected !== undefined)) return undefined;
  return groups.reduce((sum, group) => sum + Math.max(number(group.row?.expected), group.tasks.length), 0);
}

/** The run that the page is about: by its key, else the first, which is the slowest. */
export const runOf = (doc: Doc, key: string): Row | undefined => doc.runs.find((run) => run.run_key === key) ?? (key ? undefined : doc.runs[0]);

/** What fills a bar: the memory that was held of what was requested. */
export function usedOf(row: Row, figure: "memory_bytes" | "cpu_utilization"): number | undefined {
  const asked = figure === "memory_bytes" ? row.requested?.memory_bytes : row.requested?.millicpus && row.requested.millicpus / 1000;
  const used = size(row, figure);
  return asked === undefined || used === undefined || !number(asked) ? undefined : used / number(asked);
}
