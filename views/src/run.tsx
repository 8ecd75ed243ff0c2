// SPDX-License-Identifier: Apache-2.0
/** A run: how it is, what needs attention, what held it up, its steps over time, and what it used. */
import { type JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Doc, type Finding, type OverTime, type Row, type Status, type Why, begin, end, expectedOf, groupsOf, isOver, kStatuses, number, runOf, statusOf } from "./model";
import { bytes, duration, figure, fixed, plural, share } from "./figures";
import { Card, Icon, StatusIcon, Table, TimeBar, Where, clock, day, findingLink, kStatusWords, taskLink, to, useAsked } from "./parts";
import type { Ask } from "./data";
import { Lanes } from "./lanes";
import { Processes } from "./processes";
import { AtOnce, OverTimeCharts, Spread } from "./charts";
import { kindOf, wordOf } from "./words";

/** The verdict, with what it says of the end in bold. */
function Lead({ doc, run, counts }: { doc: Doc; run: Row | undefined; counts: [string, number][] }): JSX.Element {
  if (doc.verdict && doc.runs.length <= 1) {
    const [, before = "", word = "", after = doc.verdict] = /^(.*?)\b(succeeded|failed)\b(.*)$/s.exec(doc.verdict) ?? [];
    return <h1 class="lead">{before}<b class={word === "failed" ? "fail" : ""}>{word}</b>{after}.</h1>;
  }
  const left = doc.expected_end?.[run?.run_key ?? ""]?.text;
  if (run && statusOf(run) === "running")
    return <h1 class="lead"><b>{run.name}</b> has been running for <b>{figure(run, "wall_ns", "ns")}</b>{left && <>, <b>{left}</b></>}: {counts.map(([word, count]) => `${count} ${word}`).join(", ") || "no task yet"}.</h1>;
  const row = run ?? doc.totals;
  return <h1 class="lead"><b>{run ? run.name : doc.title}</b> took {row ? figure(row, "wall_ns", "ns") : "-"}{counts.length > 0 && `: ${counts.map(([word, count]) => `${count} ${word}`).join(", ")}`}.</h1>;
}

export function FindingRow({ doc, finding }: { doc: Doc; finding: Finding }): JSX.Element {
  return <a class="fnd" href={findingLink(finding)}><span class={finding.severity}><Icon name={finding.severity} label={finding.severity} /></span>
    <span class="t">{finding.text}</span><span class="at">{clock(doc, finding.first_ns)}</span>{finding.advice && <span class="l">try: {finding.advice}</span>}</a>;
}

function Attention({ doc, findings }: { doc: Doc; findings: Finding[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? findings : findings.slice(0, 4);
  const words = (["error", "warning", "note"] as const).map((each) => [each, findings.filter((f) => f.severity === each).length] as const)
    .filter(([, count]) => count).map(([each, count]) => plural(count, each, `${each}s`)).join(", ");
  return <section class="card col" aria-label="Needs attention"><div class="ph"><h2>Needs attention</h2><span class="dim">{words}</span>
    {findings.length > 4 && <button class="more linkish" onClick={() => setAll(!all)}>{all ? "fewer" : `all ${findings.length}`}</button>}</div>
    {shown.map((each) => <FindingRow key={each.finding_key} doc={doc} finding={each} />)}
    {!findings.length && <p class="quiet"><Icon name="done" /> Nothing that tracer knows of is wrong.</p>}</section>;
}

/** The critical path as its tasks' own times; where there is none, where the time went. */
function HeldUp({ doc, run }: { doc: Doc; run: Row | undefined }): JSX.Element | null {
  const path = run?.critical_path;
  if (run && path && path.tasks.length && number(run.tasks) > 1) {
    const most = Math.max(...path.tasks.map((each) => number(each.end_ns ?? each.last_ns) - number(each.begin_ns)), number(run.without_task_ns), 1);
    return <section class="card col" aria-label="Held up by"><div class="ph"><h2>Held up by</h2>
      <span class="dim">{path.tasks.length === 1 ? "1 task" : `${path.tasks.length} tasks`}, <b class="warn">{duration(path.length_ns_at_least)}</b> of {figure(run, "wall_ns", "ns")}</span></div>
      <div class="held">{path.tasks.slice(0, 6).map((each) => {
        const task = doc.tasks.find((row) => row.task_key === each.task_key);
        const length = number(each.end_ns ?? each.last_ns) - number(each.begin_ns);
        return <a href={taskLink({ run_key: run.run_key, task_key: each.task_key })}><span class="n">{each.name}</span>
          <span class="track"><span class="fit" style={{ width: `${Math.max(2, (100 * length) / most)}%` }}><TimeBar time={task?.time} /></span></span><span class="num">{task ? figure(task, "wall_ns", "ns") : duration(length)}</span></a>;
      })}
      {path.tasks.length > 6 && <p class="dim">… {path.tasks.length - 6} more</p>}
      {run.without_task_ns !== undefined && <span class="row"><span class="n dim">no task ran</span><span class="track"><span class="fit gapbar" style={{ width: `${Math.max(1, (100 * number(run.without_task_ns)) / most)}%` }} /></span><span class="num">{duration(run.without_task_ns)}</span></span>}</div>
      <p class="foot dim"><span>{path.basis === "files" ? "By the files that they passed on" : "What tasks need is not known: this is the longest one"}{number(path.length_ns_at_most) > number(path.length_ns_at_least) && ` (at most ${duration(path.length_ns_at_most)}: tasks that did not overlap)`}.</span></p></section>;
  }
  const row = run ?? doc.totals;
  if (!row?.time?.length) return null;
  const most = row.time[0]!.share || 1;
  return <section class="card col" aria-label="Where its time went"><div class="ph"><h2>Where its time went</h2><span class="dim">{row.bound_by && row.bound_share !== undefined ? `bound by ${row.bound_by} ${share(row.bound_share)}` : ""}</span></div>
    <div class="held">{row.time.slice(0, 7).map((each) => <span class="row"><span class="n">{wordOf(each.cause)}</span><span class="track"><i class={`bar1 k k-${kindOf(each.cause)}`} style={{ width: `${Math.max(1, (100 * each.share) / most)}%` }} /></span><span class="num">{share(each.share)}</span></span>)}</div></section>;
}

function Tiles({ row }: { row: Row }): JSX.Element {
  const tiles: [string, string][] = [["wall time", figure(row, "wall_ns", "ns")], ["CPU time", figure(row, "cpu_ns", "ns")], ["of one CPU", figure(row, "cpu_utilization", "share")],
    ["memory", figure(row, "memory_bytes", "bytes")], ["read", figure(row, "read_bytes", "bytes")], ["written", figure(row, "written_bytes", "bytes")],
    ["processes", figure(row, "processes", "count")], ["failed in it", figure(row, "failed", "count")]];
  return <dl class="tiles">{tiles.map(([name, text]) => <div class="tile"><dt>{name}</dt><dd>{text}</dd></div>)}</dl>;
}

export const RunTiles = Tiles;

/** "2.4 of 3.0 CPU hours (80 %)" */
function wasted(waste: Record<string, number>): string {
  const part = (name: string, unit: string): string[] => {
    const [asked, unused] = [waste[`requested_${name}`] ?? 0, waste[`unused_${name}`] ?? 0];
    const digits = asked < 1 ? 3 : 1;
    return asked ? [`${fixed(unused, digits)} of ${fixed(asked, digits)} ${unit} (${share(unused / asked)})`] : [];
  };
  return [...part("cpu_hours", "CPU hours"), ...part("memory_gib_hours", "GiB hours of memory")].join(" and ");
}

function Requests({ doc, tasks }: { doc: Doc; tasks: Row[] }): JSX.Element | null {
  const asked = tasks.filter((task) => task.requested && (task.requested.millicpus !== undefined || task.requested.memory_bytes !== undefined));
  if (!asked.length) return null;
  return <Card title="Requested and used" note={plural(asked.length, "task", "tasks")}><Table label="Requested and used" rows={asked} most={12} columns={[
    { head: "task", cell: (task) => <a href={taskLink(task)}>{task.name}</a> },
    { head: "CPU", num: true, cell: (task) => `${figure(task, "cpu_utilization", "share")}${task.requested?.millicpus !== undefined ? ` of ${share(task.requested.millicpus / 1000)}` : ""}` },
    { head: "memory", num: true, cell: (task) => `${figure(task, "memory_bytes", "bytes")}${task.requested?.memory_bytes !== undefined ? ` of ${bytes(task.requested.memory_bytes)}` : ""}` },
    { head: "time", num: true, cell: (task) => `${figure(task, "wall_ns", "ns")}${task.requested?.time_ns !== undefined ? ` of ${duration(task.requested.time_ns)}` : ""}` },
  ]} />{doc.waste && wasted(doc.waste) && <p class="foot dim">Requested and not used: {wasted(doc.waste)}{doc.waste_cost && `; ${doc.waste_cost.text}`}.</p>}</Card>;
}

export function toolColumns(): { head: string; cell: (row: Row) => JSX.Element | string; num?: boolean; narrow?: boolean }[] {
  return [{ head: "tool", cell: (row) => row.name }, { head: "processes", num: true, narrow: true, cell: (row) => figure(row, "processes", "count") }, { head: "wall", num: true, narrow: true, cell: (row) => figure(row, "wall_ns", "ns") },
    { head: "CPU", num: true, cell: (row) => figure(row, "cpu_ns", "ns") }, { head: "where time went", cell: (row) => <Where time={row.time} /> }, { head: "memory", num: true, narrow: true, cell: (row) => figure(row, "memory_bytes", "bytes") },
    { head: "read", num: true, narrow: true, cell: (row) => figure(row, "read_bytes", "bytes") }, { head: "written", num: true, narrow: true, cell: (row) => figure(row, "written_bytes", "bytes") }, { head: "failed", num: true, narrow: true, cell: (row) => (number(row.failed) ? String(row.failed) : "") }];
}

export function RunScreen({ doc, runKey, words, ask }: { doc: Doc; runKey: string; words: string; ask: Ask }): JSX.Element {
  const [filter, setFilter] = useState("");
  const known = runOf(doc, runKey);
  // The state of what lives has no critical path.
  const why = useAsked<Why>(ask, "why", doc.live ? known?.run_key : undefined, undefined, true);
  const run = useMemo(() => (known && why?.critical_path ? { ...known, critical_path: why.critical_path, ...(why.without_task_ns !== undefined && { without_task_ns: why.without_task_ns }) } : known), [known, why]);
  const overTime = useAsked<OverTime>(ask, "over_time", run?.run_key, doc.over_time, Boolean(doc.live));
  const tasks = doc.tasks.filter((task) => task.run_key === run?.run_key);
  const counts = kStatuses.map((status) => [status, tasks.filter((task) => statusOf(task) === status).length] as const).filter(([, count]) => count > 0);
  const expected = expectedOf(groupsOf(doc, run?.run_key));
  const over = counts.filter(([each]) => isOver(each)).reduce((sum, [, count]) => sum + count, 0);
  const findings = doc.findings.filter((each) => !run || each.run_key === run.run_key || each.run_key === undefined);
  const row = run ?? doc.totals;
  const failedRun = doc.verdict && doc.runs.length <= 1 ? / failed \(/.test(doc.verdict) : false;
  const status: Status = row ? (failedRun ? "failed" : statusOf(row)) : "done";
  return <>
    <div class="head"><p class="crumb"><span><a href={to("runs")}>Runs</a> / {run?.pipeline ?? doc.title}</span>{run?.run && <b>{run.run}</b>}
      <span class={`st ${status}`}><Icon name={status} />{status === "done" ? "ended" : kStatusWords[status]}</span>
      {row && begin(row) > 0 && <span>{day(doc, begin(row))} {clock(doc, begin(row))} to {status === "running" ? "now" : clock(doc, end(row))}, {figure(row, "wall_ns", "ns")}</span>}
      {run?.engine && <span>{run.engine}</span>}{doc.hosts.map((host) => host.name && <span>{host.name}</span>)}</p>
      <Lead doc={doc} run={run} counts={counts.map(([word, count]) => [kStatusWords[word], count])} /></div>
    {tasks.length > 0 && <div class="prog"><span class="pbar" role="img" aria-label={counts.map(([word, count]) => `${count} ${kStatusWords[word]}`).join(", ")}>
      {counts.map(([status_, count]) => <i class={{ done: "d", cached: "d", running: "r", stalled: "r", failed: "f", aborted: "f" }[status_ as "done"] ?? "q"} style={{ width: `${(100 * count) / Math.max(expected ?? 0, tasks.length)}%` }} />)}</span>
      <div class="counts">{counts.map(([each, count]) => <button aria-pressed={filter === each} onClick={() => setFilter(filter === each ? "" : each)}><StatusIcon status={each} /><b>{number(doc.counts?.dropped) ? "≥ " : ""}{count}</b> {kStatusWords[each]}</button>)}
        {expected !== undefined && <span class="right dim"><b>{over}</b> of {expected} expected tasks are over</span>}</div></div>}
    {row && <Tiles row={row} />}
    <div class="two"><Attention doc={doc} findings={findings} /><HeldUp doc={doc} run={run} /></div>
    {tasks.length > 0 && doc.hosts.length <= 1 && <Lanes doc={doc} run={run} words={words} filter={filter} />}
    <div class="many"><Spread tasks={tasks} />{!overTime?.series.some((each) => each.tasks?.length) && <AtOnce doc={doc} run={run} tasks={tasks} />}<OverTimeCharts over={overTime} /><Requests doc={doc} tasks={tasks} /></div>
    {doc.tools.length > 0 && <Card title="Tools" note="most CPU time first" wide><Table label="Tools" rows={doc.tools} most={15} columns={toolColumns()} /></Card>}
    {!tasks.length && <Processes doc={doc} processes={doc.held ? Object.entries(doc.held).flatMap(([key, held]) => (!run || key === run.run_key ? held.processes ?? [] : [])) : doc.processes} />}
  </>;
}
