// SPDX-License-Identifier: Apache-2.0
/** Distributions, and what was used over time. */
import { type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Doc, type OverTime, type Row, type Series, type SeriesName, begin, end, isOver, number, statusOf } from "./model";
import { bytes, duration, median } from "./figures";
import { Card, clock } from "./parts";

const kWidth = 560;

/** Each step's tasks on one scale, each line ten times the one before. */
export function Spread({ tasks }: { tasks: Row[] }): JSX.Element | null {
  const steps = useMemo(() => {
    const found = new Map<string, number[]>();
    for (const task of tasks) if (task.step !== undefined && task.wall_ns !== undefined && isOver(statusOf(task))) {
      const walls = found.get(task.step);
      if (walls) walls.push(number(task.wall_ns)); else found.set(task.step, [number(task.wall_ns)]);
    }
    return [...found].filter(([, walls]) => walls.length > 1).map(([step, walls]) => [step, walls.sort((a, b) => a - b)] as const);
  }, [tasks]);
  if (!steps.length) return null;
  const low = Math.floor(Math.log10(Math.max(1e3, Math.min(...steps.map(([, walls]) => walls[0]!)))));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...steps.map(([, walls]) => walls[walls.length - 1]!)))));
  const x = (ns: number): number => (100 * (Math.log10(Math.max(1e3, ns)) - low)) / (high - low);
  const at = (walls: readonly number[], part: number): number => walls[Math.round(part * (walls.length - 1))]!;
  return <Card title="Times of each step" note="each task a line, half of them in the box"><div class="spread" role="table" aria-label="Times of each step">
    <div role="row" class="srow shead"><span role="columnheader">step</span><span role="columnheader" class="num">median</span><span role="columnheader" class="num">largest</span>
      <span role="columnheader" class="scale" aria-label="scale">{Array.from({ length: high - low + 1 }, (_, i) => <span class={i === 0 ? "s" : i === high - low ? "e" : ""} style={{ left: `${(100 * i) / (high - low)}%` }}>{duration(10 ** (low + i))}</span>)}</span></div>
    {steps.slice(0, 30).map(([step, walls]) => <div role="row" class="srow"><span role="rowheader" class="x" title={step}>{step}</span><span role="cell" class="num">{duration(median(walls)!)}</span><span role="cell" class="num">{duration(walls[walls.length - 1]!)}</span>
      <span role="cell" class="strip"><i class="box" style={{ left: `${x(at(walls, 0.25))}%`, width: `${Math.max(0.3, x(at(walls, 0.75)) - x(at(walls, 0.25)))}%` }} />
        {walls.filter((_, i) => walls.length <= 100 || i % Math.ceil(walls.length / 100) === 0 || i === walls.length - 1).map((ns) => <i class="tick" style={{ left: `${x(ns)}%` }} />)}<i class="mid" style={{ left: `${x(median(walls)!)}%` }} /></span></div>)}
  </div></Card>;
}

type Lines = { name: string; values: number[] }[];

/** Steps, the same scale for all lines; `text`: of the most. */
function Chart({ title, lines, text, from, to }: { title: string; lines: Lines; text: (most: number) => string; from: string; to: string }): JSX.Element {
  const most = Math.max(1e-9, ...lines.flatMap((line) => line.values));
  const height = 64;
  return <figure class="chart"><figcaption class="cap"><span>{title}</span><b>{text(most)}</b></figcaption>
    <svg viewBox={`0 0 ${kWidth} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${title}: ${text(most)}`}>
      <path class="base" d={`M0 ${height - 0.5}H${kWidth}`} />
      {lines.map((line, i) => {
        const wide = kWidth / line.values.length;
        const path = line.values.map((value, at) => `${at ? "L" : "M"}${(at * wide).toFixed(1)} ${(height - (height * value) / most).toFixed(1)}h${wide.toFixed(1)}`).join("");
        return <>{i === 0 && <path class="under0" d={`${path}V${height}H0z`} />}<path class={`line line${i % 4}`} d={path} vector-effect="non-scaling-stroke" /></>;
      })}</svg>
    <span class="ends dim"><span>{from}</span><span>{lines.length > 1 && lines.map((line, i) => <span class="lk"><i class={`lkey line${i % 4}`} />{line.name} </span>)}</span><span>{to}</span></span></figure>;
}

/** From the beginnings and ends of the tasks themselves. */
export function AtOnce({ doc, run, tasks }: { doc: Doc; run: Row | undefined; tasks: Row[] }): JSX.Element | null {
  const known = tasks.filter((task) => begin(task) > 0);
  if (known.length < 2 || !run || doc.hosts.length > 1) return null;
  const [from, until] = [begin(run), Math.max(end(run), begin(run) + 1)];
  const parts = 200;
  const values = new Array<number>(parts).fill(0);
  const edges: [number, number][] = [];
  for (const task of known) edges.push([begin(task), 1], [end(task), -1]);
  edges.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let [now, last] = [0, 0];
  for (const [at, by] of edges) {
    const part = Math.min(parts - 1, Math.max(0, Math.floor((parts * (at - from)) / (until - from))));
    for (let each = last; each <= part; ++each) values[each] = Math.max(values[each]!, now);
    now += by;
    last = part;
    values[part] = Math.max(values[part]!, now);
  }
  return <Card title="Tasks at once"><div class="charts"><Chart title="tasks" lines={[{ name: "", values }]} text={(most) => `max ${Math.round(most)}`} from={clock(doc, from, true)} to={clock(doc, until, true)} /></div></Card>;
}

const kSeries: [SeriesName, string, (most: number, seconds: number) => string][] = [
  ["cpu_ns", "CPUs in use", (most, seconds) => `max ${(most / 1e9 / seconds).toFixed(most / 1e9 / seconds < 10 ? 2 : 0)} CPUs`], ["memory_bytes", "memory", (most) => `max ${bytes(Math.round(most))}`],
  ["read_bytes", "read from files", (most, seconds) => `max ${bytes(Math.round(most / seconds))}/s`], ["written_bytes", "written to files", (most, seconds) => `max ${bytes(Math.round(most / seconds))}/s`],
  ["received_bytes", "received", (most, seconds) => `max ${bytes(Math.round(most / seconds))}/s`], ["sent_bytes", "sent", (most, seconds) => `max ${bytes(Math.round(most / seconds))}/s`],
  ["io_wait_ns", "threads waiting for disk", (most, seconds) => `max ${(most / 1e9 / seconds).toFixed(1)} at once`], ["tasks", "tasks at once", (most) => `max ${Math.round(most)}`]];

export function OverTimeCharts({ over }: { over: OverTime | undefined }): JSX.Element | null {
  const whole = over?.series.filter((each) => each.step === undefined) ?? [];
  if (!over || !whole.length) return null;
  const seconds = number(over.part_ns) / 1e9;
  const ends = [0, number(over.part_ns) * over.parts].map((ns) => { const at = new Date((number(over.start_unix_ns) + ns) / 1e6); return [at.getHours(), at.getMinutes(), at.getSeconds()].map((each) => String(each).padStart(2, "0")).join(":"); });
  const charts = kSeries.flatMap(([name, title, text]) => {
    const lines = whole.filter((each: Series) => each[name]?.length).map((each) => ({ name: each.host ?? "", values: each[name]!.map(Number) }));
    // What says 0 has nothing to look at.
    const says = text(Math.max(0, ...lines.flatMap((each) => each.values)), seconds);
    return /[1-9]/.test(says) ? [<Chart title={title} lines={lines} text={(most) => text(most, seconds)} from={ends[0]!} to={ends[1]!} />] : [];
  });
  return <Card title="Used over time" note={`one step is ${duration(over.part_ns)}`} wide><div class="charts four">{charts}</div></Card>;
}
