// SPDX-License-Identifier: Apache-2.0
/** Two recordings side by side, as `tracerd compare` prints them. */
import { type JSX } from "preact";
import type { Ask, Told } from "./data";
import { duration, fixed, kUnknown, plural } from "./figures";
import { Card, Table, to, useAsked } from "./parts";
import { wordOf } from "./words";

type Change = { median_a?: number; median_b?: number; sum_a: number; sum_b: number; of_sums: boolean; change?: number; verdict: "same" | "more" | "less" | "unknown"; may_be_noise: boolean };
type RowName = "wall_ns" | "cpu_ns" | "peak_bytes" | "read_bytes" | "written_bytes";
type Compared = { name: string; n_a: number; n_b: number; failed_a: number; failed_b: number; cause?: string; cause_change_ns?: number } & Record<RowName, Change>;
type Side = { wall_ns: number; outcome: string; tasks: number; failed_tasks: number };
type Comparison = { a: Side; b: Side; steps: Compared[]; tools: Compared[] };

/** Nobody reads thousands of percent. */
const percent = (change: number): string => (change > 9 ? `x ${fixed(1 + change, 0)}` : `${change < 0 ? "" : "+"}${fixed(100 * change, 0)} %`);

function changeText(change: Change): string {
  if (change.change === undefined) return change.verdict === "more" ? "more" : kUnknown;
  return change.verdict === "same" ? "same" : percent(change.change) + (change.may_be_noise ? " ?" : "");
}

function wordFor(row: Compared): string {
  const wall = row.wall_ns;
  const more = wall.verdict === "more";
  const words = row.n_a === 0 ? ["only in B"] : row.n_b === 0 ? ["only in A"] : wall.verdict === "same" ? ["same"] : wall.verdict === "unknown" ? []
    : [wall.of_sums ? (more ? "more in all" : "less in all") : more ? "slower" : "faster"];
  if (row.failed_a) words.push(`${row.failed_a} of ${row.n_a} failed in A`);
  if (row.failed_b) words.push(`${row.failed_b} of ${row.n_b} failed in B`);
  return words.join(", ") || kUnknown;
}

function Rows({ what, rows }: { what: string; rows: Compared[] }): JSX.Element | null {
  if (!rows.length) return null;
  const side = (row: Compared, of: "a" | "b"): string => { const value = row.wall_ns.of_sums ? row.wall_ns[`sum_${of}`] : row.wall_ns[`median_${of}`]; return value === undefined ? kUnknown : duration(Math.round(value)); };
  const moved = (row: Compared): string => (row.cause === undefined || row.cause_change_ns === undefined ? "" : `${row.cause_change_ns > 0 ? "more" : "less"} ${wordOf(row.cause)}`);
  return <Card title={what} note={plural(rows.length, "row", "rows")} wide><Table label={what} rows={rows} most={100} columns={[
    { head: "name", cell: (row) => <b>{row.name}</b> }, { head: "n", num: true, narrow: true, cell: (row) => `${row.n_a}, ${row.n_b}` },
    { head: "wall A", num: true, cell: (row) => side(row, "a") }, { head: "wall B", num: true, cell: (row) => side(row, "b") },
    { head: "change", num: true, cell: (row) => changeText(row.wall_ns) },
    { head: "B is", cell: (row) => <span class={row.failed_a || row.failed_b ? "fail" : ""}>{wordFor(row)}</span> }, { head: "most of it", narrow: true, cell: moved },
    { head: "CPU", num: true, narrow: true, cell: (row) => changeText(row.cpu_ns) }, { head: "memory", num: true, narrow: true, cell: (row) => changeText(row.peak_bytes) },
    { head: "read", num: true, narrow: true, cell: (row) => changeText(row.read_bytes) }, { head: "written", num: true, narrow: true, cell: (row) => changeText(row.written_bytes) }]} /></Card>;
}

function SideText({ side, name }: { side: Side; name: string }): JSX.Element {
  return <><dt>{name}</dt><dd>{duration(Math.round(side.wall_ns))}{side.outcome !== "unknown" && `, ${side.outcome}`}{side.tasks > 0 && `, ${plural(side.tasks, "task", "tasks")}`}
    {side.failed_tasks > 0 && <span class="fail">, {side.failed_tasks} failed</span>}</dd></>;
}

export function CompareScreen({ told, a, b, ask }: { told: Told; a: string; b: string; ask: Ask }): JSX.Element {
  const recordings = told.sources.filter((each) => each.kind === "recording");
  const left = recordings.some((each) => each.source === a) ? a : (recordings[1] ?? recordings[0])?.source ?? "";
  const right = recordings.some((each) => each.source === b) ? b : recordings[0]?.source ?? "";
  const said = useAsked<Comparison>(ask, "compare", `${left}&with=${right}`, undefined, false);
  const nameOf = (source: string): string => recordings.find((each) => each.source === source)?.name ?? source;
  const choice = (label: string, value: string, place: (value: string) => string): JSX.Element => <label class="choice">{label} <select aria-label={`Recording ${label}`} value={value}
    onChange={(event) => { location.hash = place(event.currentTarget.value); }}>{recordings.map((each) => <option value={each.source}>{each.name}</option>)}</select></label>;
  return <div class="page"><h1 class="big">{said ? <><b>B</b> took <b>{duration(Math.round(said.b.wall_ns))}</b> instead of <b>{duration(Math.round(said.a.wall_ns))}</b>.</> : "Compare"}</h1>
    <p class="crumb">{choice("A", left, (value) => to("compare", value, right))}{choice("B", right, (value) => to("compare", left, value))}</p>
    {said === undefined ? <div class="skel tall" aria-busy="true" /> : <>
      <Card title="As a whole"><dl class="ev"><SideText side={said.a} name={`A: ${nameOf(left)}`} /><SideText side={said.b} name={`B: ${nameOf(right)}`} /></dl></Card>
      <div class="many"><Rows what="Steps" rows={said.steps} /><Rows what="Tools" rows={said.tools} /></div>
      <p class="dim">Medians of a task (step) that did not fail, or of a process (tool); sums, where the numbers differ. same: chance explains the difference. ?: fewer than 3 on one side; it may be noise.</p></>}</div>;
}
