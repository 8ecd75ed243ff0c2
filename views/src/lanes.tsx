// SPDX-License-Identifier: Apache-2.0
/** Steps and tasks over the run's time: how many ran at once, and what they did. */
import { type ComponentChildren, type JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Container, type Doc, type Group, type Row, begin, end, groupsOf, isOver, number, statusOf, usedOf } from "./model";
import { duration, figure, median } from "./figures";
import { Icon, StatusIcon, Used, Where, clock, containerName, shortName, taskLink } from "./parts";
import { type Kind, kKinds, kindOf } from "./words";

export type Span = { from: number; to: number };
const kBins = 180;
const kAtFirst = 60;
const kLastNs = 30 * 60e9;

/** Each kind's pattern, once in the page: a color alone would say it to some only. */
export function Patterns(): JSX.Element {
  const lines: Partial<Record<Kind, [number, number, number]>> = { queue: [90, 4, 2], limit: [90, 3, 1], disk: [45, 4, 2], net: [-45, 4, 2], pipe: [-45, 6, 2],
    mem: [0, 4, 2], lock: [0, 3, 1], sleep: [90, 5, 1], unclear: [45, 6, 4] };
  return <svg width="0" height="0" class="defs" aria-hidden="true"><defs>{Object.entries(lines).map(([kind, [turn, size, width]]) =>
    <pattern id={`p-${kind}`} width={size} height={size} patternUnits="userSpaceOnUse" patternTransform={`rotate(${turn - 90})`}>
      <rect class={`f-${kind} pale`} width={size} height={size} /><rect class={`f-${kind}`} width={width} height={size} /></pattern>)}</defs></svg>;
}

/** The width of what it is put on, in pixels. */
function useWidth(): [(node: HTMLElement | null) => void, number] {
  const [width, setWidth] = useState(600);
  const [node, setNode] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (!node) return undefined;
    const watch = new ResizeObserver(() => setWidth(Math.max(60, node.clientWidth)));
    watch.observe(node);
    return () => watch.disconnect();
  }, [node]);
  return [setNode, width];
}

/** Where its time went, by kind: parts of 1. Where that is not known, it just was there. */
function mixOf(task: Row): [Kind, number][] {
  const time = task.time ?? [];
  const whole = time.reduce((sum, each) => sum + each.share, 0);
  if (!whole) return [["other", 1]];
  const mix = new Map<Kind, number>();
  for (const each of time) mix.set(kindOf(each.cause), (mix.get(kindOf(each.cause)) ?? 0) + each.share / whole);
  return [...mix];
}

function areas(tasks: Row[], span: Span): { layers: Map<Kind, Float64Array>; most: number } {
  const layers = new Map<Kind, Float64Array>();
  const all = new Float64Array(kBins);
  const per = (span.to - span.from) / kBins;
  for (const task of tasks) {
    const [from, to] = [(begin(task) - span.from) / per, (Math.max(end(task), begin(task)) - span.from) / per];
    if (!begin(task)) continue;
    const mix = mixOf(task);
    for (let bin = Math.max(0, Math.floor(from)); bin < Math.min(kBins, Math.ceil(to + 1e-9)); ++bin) {
      const part = Math.min(to, bin + 1) - Math.max(from, bin);
      // What is there can be seen.
      const there = Math.max(part, to - from < 1 ? 0.6 : part);
      all[bin]! += there;
      for (const [kind, of] of mix) {
        let layer = layers.get(kind);
        if (!layer) layers.set(kind, (layer = new Float64Array(kBins)));
        layer[bin]! += there * of;
      }
    }
  }
  return { layers, most: Math.max(1e-9, ...all) };
}

function Area({ tasks, span, width, height }: { tasks: Row[]; span: Span; width: number; height: number }): JSX.Element {
  const { layers, most } = useMemo(() => areas(tasks, span), [tasks, span.from, span.to]);
  const base = new Float64Array(kBins);
  const paths: JSX.Element[] = [];
  for (const [kind] of kKinds) {
    const layer = layers.get(kind);
    if (!layer) continue;
    let path = "";
    for (let bin = 0; bin < kBins; ++bin) {
      const value = layer[bin]!;
      if (value <= 0) continue;
      // Neighbors are drawn as one.
      let until = bin + 1;
      while (until < kBins && Math.abs(layer[until]! - value) < 1e-9 && Math.abs(base[until]! - base[bin]!) < 1e-9) ++until;
      const y = height - (height * (base[bin]! + value)) / most;
      path += `M${((bin * width) / kBins).toFixed(1)} ${y.toFixed(1)}h${(((until - bin) * width) / kBins).toFixed(1)}v${((height * value) / most).toFixed(1)}h${((-(until - bin) * width) / kBins).toFixed(1)}z`;
      for (; bin < until; ++bin) base[bin]! += value;
      --bin;
    }
    paths.push(<path d={path} class={`a-${kind}`} />);
  }
  return <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">{paths}</svg>;
}

const kSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

export function Axis({ doc, span, width }: { doc: Doc; span: Span; width: number }): JSX.Element {
  const seconds = (span.to - span.from) / 1e9;
  const step = kSteps.find((each) => (seconds / each) * 78 <= width) ?? 604800 * Math.ceil(seconds / 604800);
  const offset = number(doc.hosts[0]?.wall_offset_ns);
  const zone = offset ? new Date((span.from + offset) / 1e6).getTimezoneOffset() * -60 : 0;
  const first = offset ? Math.ceil(((span.from + offset) / 1e9 + zone) / step) * step - offset / 1e9 - zone : span.from / 1e9;
  const ticks: number[] = [];
  for (let at = first; at * 1e9 <= span.to && ticks.length < 60; at += step) ticks.push(at * 1e9);
  const xOf = (at: number): number => ((at - span.from) / (span.to - span.from)) * width;
  const isWhole = (at: number): boolean => xOf(at) >= 30 && xOf(at) <= width - 30;
  // What would be moved from an edge could lie on its neighbor.
  const shown = ticks.some(isWhole) ? ticks.filter(isWhole) : ticks.slice(0, 1);
  return <div class="axis">{shown.map((at) => {
    const x = xOf(at);
    return <span class={x < 30 ? "s" : x > width - 30 ? "e" : ""} style={{ left: `${x}px` }}>{clock(doc, at, step < 60)}</span>;
  })}</div>;
}

export function spanOf(doc: Doc, run: Row | undefined, tasks: Row[]): Span {
  const rows = run ? [run, ...tasks] : tasks;
  let [from, to] = [Infinity, 0];
  for (const row of rows) { if (begin(row)) from = Math.min(from, begin(row)); to = Math.max(to, end(row)); }
  if (from === Infinity) { from = number(doc.totals?.first_start_ns); to = number(doc.totals?.last_end_ns); }
  return { from, to: Math.max(to, from + 1e6) };
}

/** The tasks that the run waited for, each over its time. */
function PathLane({ doc, run, span, width }: { doc: Doc; run: Row; span: Span; width: number }): JSX.Element {
  const scale = width / (span.to - span.from);
  return <svg width={width} height="24" viewBox={`0 0 ${width} 24`} aria-hidden="true">{run.critical_path?.tasks.map((each) => {
    const task = doc.tasks.find((row) => row.task_key === each.task_key);
    const x = (number(each.begin_ns) - span.from) * scale;
    const wide = Math.max(2, (number(each.end_ns ?? each.last_ns) - number(each.begin_ns)) * scale);
    let y = 24;
    return <g>{(task ? mixOf(task) : [["other", 1] as [Kind, number]]).sort((a, b) => kKinds.findIndex(([k]) => k === a[0]) - kKinds.findIndex(([k]) => k === b[0])).map(([kind, part]) => {
      y -= part * 24;
      return <rect x={x} y={y} width={wide} height={part * 24} class={`a-${kind}`} />;
    })}{wide > 90 && <text x={x + 8} y="16" class="onlane">{each.name.length * 7 < wide - 12 ? each.name : `${each.name.slice(0, Math.floor((wide - 20) / 7))}…`}</text>}</g>;
  })}</svg>;
}

function Line({ level, name, done, time, where, memory, lane, className = "" }: { level: 1 | 2; name: ComponentChildren; done: ComponentChildren; time: ComponentChildren;
  where: ComponentChildren; memory: ComponentChildren; lane: ComponentChildren; className?: string }): JSX.Element {
  return <div role="row" class={`tr ${level === 2 ? "task" : ""} ${className}`}>
    <div role="rowheader" class="nm">{name}</div><div role="cell" class="c-done">{done}</div><div role="cell" class="c-time">{time}</div>
    <div role="cell" class="c-where">{where}</div><div role="cell" class="c-mem">{memory}</div><div role="cell" class="lane">{lane}</div></div>;
}

function Memory({ row }: { row: Row }): JSX.Element {
  const text = figure(row, "memory_bytes", "bytes", false);
  return <span class="mm"><span>{text}{row.requested?.memory_bytes !== undefined && <span class="dim"> of {figure(row.requested, "memory_bytes", "bytes")}</span>}</span>
    <Used part={usedOf(row, "memory_bytes")} label="memory of what was requested" /></span>;
}

/** From start to end, below what the task did; open where its end was not seen. */
function ContainerLines({ containers, span, width }: { containers: Container[]; span: Span; width: number }): JSX.Element {
  const x = (ns: number): number => Math.min(width, Math.max(0, ((ns - span.from) / (span.to - span.from)) * width));
  return <svg class="containers" width={width} height="5" viewBox={`0 0 ${width} 5`} role="img" aria-label={containers.map((each) => `container ${containerName(each)}, ${figure(each, "wall_ns", "ns")}`).join("; ")}>
    {containers.map((each) => { const [from, to] = [x(number(each.begin_ns)), each.end_ns === undefined ? width : x(number(each.end_ns))];
      return <path d={`M${(from + 0.5).toFixed(1)} 0v3H${Math.max(from + 2, to - 0.5).toFixed(1)}${each.end_ns === undefined ? "" : "v-3"}`} />; })}</svg>;
}

function TaskLine({ doc, task, span, width }: { doc: Doc; task: Row; span: Span; width: number }): JSX.Element {
  const status = statusOf(task);
  const tasks = useMemo(() => [task], [task]);
  const containers = useMemo(() => (doc.containers ?? []).filter((each) => each.task_key !== undefined && each.task_key === task.task_key), [doc, task]);
  return <Line level={2} className={status} name={<><span class="tw" /><StatusIcon status={status} /><a class="x" href={taskLink(task)} title={task.name}>{shortName(task)}</a></>}
    done={<span class="dim">{task.attempt !== undefined && task.attempt > 1 ? `attempt ${task.attempt}` : clock(doc, task.first_start_ns ?? task.start_ns, true)}</span>}
    time={status === "queued" ? <span class="dim">queued</span> : figure(task, "wall_ns", "ns")} where={status === "queued" ? "" : <Where time={task.time} />} memory={<Memory row={task} />}
    lane={<><Area tasks={tasks} span={span} width={width} height={20} />{containers.length > 0 && <ContainerLines containers={containers} span={span} width={width} />}</>} />;
}

function GroupLines({ doc, group, span, width, open, toggle, wanted }: { doc: Doc; group: Group; span: Span; width: number; open: boolean; toggle: () => void; wanted: (task: Row) => boolean }): JSX.Element {
  const [most, setMost] = useState(kAtFirst);
  const tasks = group.tasks.filter(wanted);
  const ended = group.tasks.filter((task) => isOver(statusOf(task)));
  const failed = group.tasks.filter((task) => statusOf(task) === "failed").length;
  const usual = median(ended.filter((task) => task.wall_ns !== undefined).map((task) => number(task.wall_ns)));
  const whole = number(group.row?.expected) || group.tasks.length;
  const row = group.row ?? group.tasks[0];
  const problem = doc.findings.find((each) => each.step !== undefined && each.step === group.key && each.severity !== "note" && each.run_key === row?.run_key);
  return <>
    <Line level={1} name={<><button class="tw" aria-expanded={open} aria-label={`Tasks of ${group.name}`} onClick={toggle}>{open ? "▾" : "▸"}</button>
      <span class="x" title={group.name}>{group.name}</span>{failed > 0 ? <span class="bad"><StatusIcon status="failed" /></span> : problem && <span class={problem.severity}><Icon name={problem.severity} label={problem.severity} /></span>}</>}
      done={<span class="mini"><span class="pbar" aria-hidden="true"><i class="d" style={{ width: `${(100 * (ended.length - failed)) / whole}%` }} />{failed > 0 && <i class="f" style={{ width: `${(100 * failed) / whole}%` }} />}
        <i class="r" style={{ width: `${(100 * group.tasks.filter((task) => statusOf(task) === "running" || statusOf(task) === "stalled").length) / whole}%` }} /></span><span>{ended.length}<span class="dim">/{whole}</span></span></span>}
      time={usual === undefined ? <span class="dim">-</span> : <span title={group.tasks.length > 1 ? "the median of its tasks" : undefined}>{duration(usual)}</span>}
      where={<Where time={group.row?.time ?? (group.tasks.length === 1 ? row?.time : undefined)} />} memory={group.row ? <Memory row={group.tasks.length === 1 && row ? group.tasks[0]! : group.row} /> : ""}
      lane={<Area tasks={tasks} span={span} width={width} height={24} />} />
    {open && tasks.slice(0, most).map((task) => <TaskLine key={task.task_key ?? task.id ?? task.name} doc={doc} task={task} span={span} width={width} />)}
    {open && tasks.length > most && <div role="row" class="tr moreline"><div role="cell"><button class="btn" onClick={() => setMost(most * 4)}>{tasks.length - most} more</button></div></div>}
  </>;
}

export function Lanes({ doc, run, words, filter }: { doc: Doc; run: Row | undefined; words: string; filter: string }): JSX.Element {
  const [by, setBy] = useState<"steps" | "samples" | "tasks">("steps");
  const [last, setLast] = useState(false);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [axis, width] = useWidth();
  const groups = useMemo(() => groupsOf(doc, run?.run_key), [doc, run]);
  const tasks = useMemo(() => groups.flatMap((group) => group.tasks), [groups]);
  const whole = useMemo(() => spanOf(doc, run, tasks), [doc, run, tasks]);
  const isLong = whole.to - whole.from > 2 * kLastNs;
  const span = useMemo(() => (isLong && last ? { from: whole.to - kLastNs, to: whole.to } : whole), [whole, last]);
  const lower = words.toLowerCase();
  const wanted = (task: Row): boolean => (!filter || statusOf(task) === filter)
    && (!lower || [task.name, task.sample, task.tool, task.task_id].some((text) => text?.toLowerCase().includes(lower)));
  const narrowed = Boolean(filter || lower);
  const shown = useMemo((): Group[] => {
    if (by === "steps") return groups;
    if (by === "tasks") return [{ key: "tasks", name: "all tasks", row: undefined, tasks }];
    const samples = new Map<string, Group>();
    for (const task of tasks) {
      const key = task.sample ?? "";
      if (!samples.has(key)) samples.set(key, { key, name: key || "of no sample", row: doc.samples.find((row) => row.sample === key), tasks: [] });
      samples.get(key)!.tasks.push(task);
    }
    return [...samples.values()];
  }, [by, groups]);
  const kinds = useMemo(() => { const found = new Set<Kind>(); for (const task of tasks.slice(0, 2000)) for (const [kind, part] of mixOf(task)) if (part > 0.02) found.add(kind); return found; }, [tasks]);
  const toggle = (key: string): void => { const next = new Set(opened); if (!next.delete(key)) next.add(key); setOpened(next); };
  const lanes = useRef<HTMLElement>(null);
  return <section class="card lanes wide" aria-label="Over time" ref={lanes}>
    <div class="tools"><h2>Over time</h2>
      <span class="seg" role="group" aria-label="Rows">{(["steps", "samples", "tasks"] as const).map((each) => <button aria-pressed={by === each} onClick={() => setBy(each)}>{each}</button>)}</span>
      <ul class="legend" aria-label="What the hatches mean">{kKinds.filter(([kind]) => kinds.has(kind)).map(([kind, word]) => <li><span class={`key k k-${kind}`} aria-hidden="true" />{word}</li>)}</ul>
      {isLong && <span class="seg zoom" role="group" aria-label="Time">{[false, true].map((each) => <button aria-pressed={last === each} onClick={() => setLast(each)}>{each ? "last 30 min" : "whole run"}</button>)}</span>}</div>
    <div class="grid" role="table" aria-label="Steps and tasks over time">
      <div class="th" role="row"><div role="columnheader">name</div><div role="columnheader">done</div><div role="columnheader">time</div><div role="columnheader">time went to</div><div role="columnheader" class="c-mem">memory</div>
        <div role="columnheader" class="axiscell" ref={axis} aria-label="time of the day"><Axis doc={doc} span={span} width={width} /></div></div>
      {run?.critical_path && <div class="tr pathrow" role="row"><div role="rowheader" class="nm"><b>Held up by</b></div>
        <div role="cell" class="pathtext dim">{run.critical_path.tasks.map((each) => each.name).join(" → ")}</div><div role="cell" class="lane"><PathLane doc={doc} run={run} span={span} width={width} /></div></div>}
      {shown.filter((group) => !narrowed || group.tasks.some(wanted)).map((group) => <GroupLines key={`${by} ${group.key}`} doc={doc} group={group} span={span} width={width} wanted={wanted}
        open={opened.has(group.key) || by === "tasks" || narrowed} toggle={() => toggle(group.key)} />)}
    </div>
    <p class="under dim">Height: tasks at once, each row by its own most. A task's time is spread evenly over its life.{doc.containers && " The line below a task is its container."}{narrowed && ` ${tasks.filter(wanted).length} of ${tasks.length} tasks.`}</p>
  </section>;
}
