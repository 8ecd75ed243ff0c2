// SPDX-License-Identifier: Apache-2.0
/** All runs, of all sources, and how runs of one pipeline and their steps changed. */
import { type JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Ask, Told } from "./data";
import { duration, figure, median, plural } from "./figures";
import { type Doc, type ListedRun, type Status, begin, groupsOf, isOver, kStatuses, number, statusOf } from "./model";
import { Card, StatusIcon, Table, Where, kStatusWords, moment, to, useAsked } from "./parts";
import { Missing } from "./screens";

const kMostTrend = 20;
const kUnreadMs = 2000;
// The list may have megabytes; what lives comes by itself.
const kLookMs = 30_000;

type Listed = { runs: ListedRun[]; left_out: number; unread: number; problems?: string[] };

/** Runs of the document as the server lists those of other sources. */
function listedOf(doc: Doc, source: string): ListedRun[] {
  const offset = doc.hosts[0]?.wall_offset_ns;
  return doc.runs.map((run) => {
    const of = doc.findings.filter((each) => each.run_key === run.run_key);
    const count = (severity: string): number => of.filter((each) => each.severity === severity).length;
    const steps = groupsOf(doc, run.run_key).map(({ name, tasks }) => {
      const usual = median(tasks.filter((task) => task.wall_ns !== undefined && isOver(statusOf(task))).map((task) => number(task.wall_ns)));
      return { name, tasks: tasks.length, ...(usual !== undefined && { wall_ns: usual }) };
    });
    return { ...run, source, status: statusOf(run), findings: { error: count("error"), warning: count("warning") }, steps,
      ...(offset !== undefined && begin(run) > 0 && { start_unix_ns: begin(run) + number(offset) }) };
  });
}

/** A line through what is known, its last value marked; from 0 on. */
function Spark({ values }: { values: (number | undefined)[] }): JSX.Element {
  const [wide, high, most] = [110, 22, Math.max(1, ...values.map((each) => each ?? 0))];
  const points = values.flatMap((value, at) => value === undefined ? [] : [[3 + ((wide - 6) * at) / Math.max(1, values.length - 1), high - 3 - ((high - 6) * value) / most] as const]);
  const last = points[points.length - 1];
  return <svg class="spark" width={wide} height={high} viewBox={`0 0 ${wide} ${high}`} role="img" aria-label={values.map((each) => (each === undefined ? "-" : duration(each))).join(", ")}>
    <polyline points={points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />{last && <circle cx={last[0].toFixed(1)} cy={last[1].toFixed(1)} r="2.5" />}</svg>;
}

/** Of pipelines that ran more than once: the wall time of each run, and each step's median in it. */
export function Trends({ runs }: { runs: ListedRun[] }): JSX.Element {
  const pipelines = useMemo(() => {
    const found = new Map<string, ListedRun[]>();
    for (const run of [...runs].sort((a, b) => number(a.start_unix_ns ?? begin(a)) - number(b.start_unix_ns ?? begin(b))))
      if (run.pipeline !== undefined) found.set(run.pipeline, [...(found.get(run.pipeline) ?? []), run]);
    return [...found].filter(([, of]) => of.length > 1).map(([pipeline, of]) => {
      const last = of.slice(-kMostTrend);
      const lines = new Map<string, (number | undefined)[]>();
      const put = (name: string, at: number, value: number | undefined): void => {
        if (!lines.has(name)) lines.set(name, new Array<number | undefined>(last.length).fill(undefined));
        lines.get(name)![at] = value;
      };
      last.forEach((run, at) => {
        put("", at, run.wall_ns !== undefined && isOver(statusOf(run)) ? number(run.wall_ns) : undefined);
        for (const step of run.steps) put(step.name, at, step.wall_ns === undefined ? undefined : number(step.wall_ns));
      });
      return { pipeline, lines: [...lines].filter(([, values]) => values.filter((each) => each !== undefined).length > 1) };
    }).filter(({ lines }) => lines.length);
  }, [runs]);
  return <>{pipelines.map(({ pipeline, lines }) => <Card title={`${pipeline}: run by run`} note="wall time, and the median of each step's tasks; the newest on the right"><Table label={`${pipeline}: run by run`} rows={lines} most={40} columns={[
    { head: "step", cell: ([step]) => (step ? <span class="runname"><span class="x" title={step}>{step}</span></span> : <b>whole run</b>) }, { head: "runs", cell: ([, values]) => <Spark values={values} /> },
    { head: "before", num: true, cell: ([, values]) => { const earlier = median(values.slice(0, -1).filter((each) => each !== undefined)); return earlier === undefined ? "-" : duration(earlier); } },
    { head: "last", num: true, cell: ([, values]) => { const last = values[values.length - 1]; return last === undefined ? "-" : duration(last); } }]} /></Card>)}</>;
}

export function RunsScreen({ told, doc, words, ask }: { told: Told; doc: Doc; words: string; ask: Ask }): JSX.Element {
  const [filter, setFilter] = useState<Status | "">("");
  const listed = useAsked<Listed>(ask, "runs", "all", undefined, true, (said) => (said.unread ? kUnreadMs : kLookMs));
  const nameOf = (source: string): string => told.sources.find((each) => each.source === source)?.name ?? doc.title;
  const all = useMemo(() => {
    const own = listedOf(doc, told.source);
    const here = new Set(own.map((run) => run.run_key));
    const others = (listed?.runs ?? []).filter((run) => (doc.lake || run.source !== told.source) && !here.has(run.run_key));
    return [...own, ...others].sort((a, b) => number(b.start_unix_ns ?? begin(b)) - number(a.start_unix_ns ?? begin(a)));
  }, [doc, listed, told.source]);
  if (!all.length && !listed?.unread && !listed?.problems && !(doc.lake && !listed)) return <Missing what="run" />;
  const lower = words.toLowerCase();
  const found = all.filter((run) => !lower || [run.name, run.pipeline, run.run, nameOf(run.source)].some((text) => text?.toLowerCase().includes(lower)));
  const shown = found.filter((run) => !filter || statusOf(run) === filter);
  const counts = kStatuses.map((status) => [status, found.filter((run) => statusOf(run) === status).length] as const).filter(([, count]) => count);
  const problems = ({ findings }: ListedRun): string => (["error", "warning"] as const).filter((each) => findings[each]).map((each) => plural(findings[each]!, each, `${each}s`)).join(", ");
  const several = told.sources.filter((each) => each.lake === undefined).length > 1;
  return <div class="page"><h1 class="big">{doc.lake && !all.length && !listed?.problems ? "Reading …" : <><b>{all.length}</b> {all.length === 1 ? "run" : "runs"}</>}{doc.live && `, ${all.filter((run) => statusOf(run) === "running").length} running`}</h1>
    {listed?.problems?.map((each) => <p class="warn" role="status">{each}</p>)}
    {(all.length > 1 || Boolean(listed?.unread)) && <div class="counts" role="group" aria-label="Only those">{counts.map(([each, count]) => <button aria-pressed={filter === each} onClick={() => setFilter(filter === each ? "" : each)}><StatusIcon status={each} /><b>{count}</b> {each === "done" ? "ended" : kStatusWords[each]}</button>)}
      {(listed?.unread ?? 0) > 0 && <span class="right dim" role="status">reading {plural(listed!.unread, "recording", "recordings")} …</span>}</div>}
    <Card title="Runs" wide><Table label="Runs" rows={shown} most={500} columns={[{ head: "run", cell: (run) => <span class="runname"><StatusIcon status={statusOf(run)} /><a class="x" href={to("run", run.run_key)} title={run.name}>{run.name}</a></span> },
      { head: "began", cell: (run) => <span class="when">{moment(run.start_unix_ns).split(" ").map((part) => <><span>{part}</span> </>)}</span> }, { head: "took", num: true, cell: (run) => figure(run, "wall_ns", "ns") }, { head: "tasks", num: true, narrow: true, cell: (run) => figure(run, "tasks", "count") },
      { head: "CPU", num: true, narrow: true, cell: (run) => figure(run, "cpu_ns", "ns") }, ...(doc.lake ? [] : [{ head: "time went to", narrow: true, cell: (run: ListedRun) => <Where time={run.time} /> }]), { head: "memory", num: true, narrow: true, cell: (run) => figure(run, "memory_bytes", "bytes") },
      { head: "findings", cell: (run) => <span class="warn">{problems(run)}</span> }, ...(several ? [{ head: "source", narrow: true, cell: (run: ListedRun) => <span class="dim source">{nameOf(run.source)}</span> }] : [])]} />
      {(listed?.left_out ?? 0) > 0 && <p class="dim more">… {listed!.left_out} older ones</p>}</Card>
    <div class="many"><Trends runs={found} /></div></div>;
}
