// SPDX-License-Identifier: Apache-2.0
/** Where the document comes from: the page itself, or the server, which sends what changes. */
import { type Doc, type Finding, type Row, docOf } from "./model";
import { parse } from "./json";

const kAgainMs = 3000;

/** Processes, files and peers of a run or task; why; over time; runs of all sources; hosts of a lake. undefined: the source does not say it; null: not now. */
export type Ask = (what: "held" | "why" | "over_time" | "runs" | "compare" | "hosts", key: string) => Promise<unknown>;
export type Link = "still" | "live" | "lost";
type Reply = { since: string; all: boolean; more: boolean; runs?: Row[]; steps?: Row[]; tasks?: Row[]; findings?: Finding[]; gone?: string[]; counts?: Doc["counts"];
  expected_end?: Doc["expected_end"] };
type Info = { source: string; name: string; kind: "service" | "recording" | "lake"; hosts: Doc["hosts"]; says: string[]; warning?: string;
  /** Of a run that was opened: its lake. */
  lake?: string };
export type Told = { doc: Doc | undefined; link: Link; error?: string | undefined; fetching?: boolean; sources: Info[]; source: string };

async function get(path: string): Promise<unknown> {
  const reply = await fetch(`api/v1/${path}`, { credentials: "same-origin" });
  const text = await reply.text();
  if (!reply.ok) {
    let said = `${reply.status} ${reply.statusText}`;
    try { said = (JSON.parse(text) as { error: string }).error; } catch { /* not of the server's own */ }
    throw new Error(said);
  }
  return parse(text);
}

/** Rows of the state by their id; a row replaces an earlier one. */
class Rows {
  private readonly runs = new Map<string, Row>();
  private readonly steps = new Map<string, Row>();
  private readonly tasks = new Map<string, Row>();
  private readonly findings = new Map<string, Finding>();
  private counts: Doc["counts"];
  private ends: Doc["expected_end"];

  take(reply: Reply): void {
    const kinds = [[this.runs, reply.runs], [this.steps, reply.steps], [this.tasks, reply.tasks]] as const;
    if (reply.all) for (const each of [this.runs, this.steps, this.tasks, this.findings]) each.clear();
    for (const [kept, rows] of kinds) for (const row of rows ?? []) kept.set(row.id ?? "", row);
    for (const each of reply.findings ?? []) this.findings.set(each.finding_key, each);
    for (const id of reply.gone ?? []) for (const [kept] of kinds) kept.delete(id);
    this.counts = reply.counts ?? this.counts;
    if (!reply.more) this.ends = reply.expected_end;
  }

  doc(info: Info): Doc {
    const order = { error: 0, warning: 1, note: 2 };
    const wall = (row: Row): number => Number(row.wall_ns ?? 0);
    // The newest run first: it is what one looks for.
    const runs = [...this.runs.values()].sort((a, b) => Number(b.start_ns ?? b.first_start_ns ?? 0) - Number(a.start_ns ?? a.first_start_ns ?? 0));
    const keyOf = new Map(runs.map((run) => [run.id, run.run_key]));
    const inRun = (row: Row): Row => {
      const key = row.run_key ?? (row.in === undefined ? undefined : keyOf.get(row.in));
      return key === undefined ? row : { ...row, run_key: key };
    };
    return docOf({ title: info.name, live: info.kind === "service", hosts: info.hosts, runs, steps: [...this.steps.values()].map(inRun),
      tasks: [...this.tasks.values()].map(inRun).sort((a, b) => wall(b) - wall(a)),
      findings: [...this.findings.values()].sort((a, b) => order[a.severity] - order[b.severity]), ...(this.counts && { counts: this.counts }), ...(this.ends && { expected_end: this.ends }) });
  }
}

/** Tells of each change; the caller draws. */
export function follow(tell: (told: Told) => void): { choose: (source: string) => void; fetchRun: (lake: string, key: string) => void; pause: (paused: boolean) => void; ask: Ask } {
  const embedded = document.getElementById("data")?.textContent;
  if (embedded) {
    tell({ doc: docOf(parse(embedded) as object), link: "still", sources: [], source: "" });
    return { choose: () => undefined, fetchRun: () => undefined, pause: () => undefined, ask: () => Promise.resolve(undefined) };
  }
  let told: Told = { doc: undefined, link: "still", sources: [], source: "" };
  let stream: EventSource | undefined;
  let paused = false;
  const say = (more: Partial<Told>): void => { told = { ...told, ...more }; if (!paused) tell(told); };
  const query = (): string => `source=${encodeURIComponent(told.source)}`;

  async function open(info: Info, again = false): Promise<void> {
    stream?.close();
    if (!again) say({ source: info.source, doc: undefined, error: undefined, fetching: false });
    if (info.kind === "lake") {
      say({ doc: docOf({ title: info.name, lake: true }), link: "still" });
      return;
    }
    if (info.kind === "recording") {
      say({ doc: docOf(await get(`report/all?${query()}`) as object), link: "still" });
      return;
    }
    let rows = new Rows();
    const changes = (stream = new EventSource(`api/v1/changes?${query()}`));
    let due = 0;
    changes.onmessage = (event: MessageEvent<string>) => {
      const reply = parse(event.data) as Reply;
      if (reply.all) rows = new Rows();
      rows.take(reply);
      if (reply.more || due) return;
      // A burst is drawn once.
      due = window.setTimeout(() => { due = 0; say({ doc: rows.doc(info), link: "live" }); }, 100);
    };
    changes.addEventListener("lost", (event: MessageEvent<string>) => say({ link: "lost", error: (JSON.parse(event.data) as { error: string }).error }));
    changes.onerror = () => {
      say({ link: "lost" });
      // A browser tries again by itself, but not after an answer that is an error.
      if (changes.readyState === EventSource.CLOSED && stream === changes) setTimeout(() => { if (stream === changes) void open(info, true); }, kAgainMs);
    };
  }

  void (async () => {
    try {
      const { sources } = await get("sources") as { sources: Info[] };
      say({ sources });
      if (sources[0]) await open(sources[0]);
    } catch (error) {
      say({ error: String((error as Error).message) });
    }
  })();
  return {
    choose: (source) => { paused = false; const info = told.sources.find((each) => each.source === source); if (info) void open(info).catch((error: Error) => say({ error: error.message })); },
    fetchRun: (lake, key) => {
      stream?.close();
      say({ doc: undefined, error: undefined, fetching: true, link: "still" });
      get(`open/${encodeURIComponent(key)}?source=${encodeURIComponent(lake)}`).then(async (said) => {
        const { sources } = await get("sources") as { sources: Info[] };
        say({ sources });
        await open((said as { sources: Info[] }).sources[0]!);
      }).catch((error: Error) => say({ error: error.message }));
    },
    pause: (value) => { paused = value; if (!paused) tell(told); },
    ask: async (what, key) => {
      const lake = told.sources.find((each) => each.kind === "lake");
      if (what === "hosts") return lake && get(`hosts?source=${encodeURIComponent(lake.source)}`).catch(() => null);
      if (what === "runs") return lake || told.sources.length > 1 ? get("runs").catch(() => null) : undefined;
      if (what === "compare") return get(`compare?source=${key}`).catch(() => null);
      if (what !== "held" && !told.sources.find((each) => each.source === told.source)?.says.includes(what)) return undefined;
      try {
        return await get(what === "held" ? `state?${query()}&key=${encodeURIComponent(key)}` : `${what}/${encodeURIComponent(key)}?${query()}`);
      } catch {
        return null;
      }
    },
  };
}
