// SPDX-License-Identifier: Apache-2.0
/** Processes as a tree. */
import { type JSX } from "preact";
import { type Doc, type Process, number } from "./model";
import { figure } from "./figures";
import { Card, Table, clock } from "./parts";

export const ended = (process: Process): string => process.exit_signal !== undefined ? `signal ${process.exit_signal}` : process.exit_code !== undefined ? `status ${process.exit_code}` : number(process.living) > 0 || process.last_ns !== undefined ? "runs" : "";

/** Children stand below their parent, in the order of their start. */
function treeOf(processes: Process[]): [Process, number][] {
  const below = new Map<number, Process[]>();
  const pids = new Set(processes.map((each) => each.pid));
  const roots: Process[] = [];
  for (const each of [...processes].sort((a, b) => number(a.begin_ns ?? a.start_ns) - number(b.begin_ns ?? b.start_ns))) {
    const parent = each.parent_pid;
    if (parent !== undefined && parent !== each.pid && pids.has(parent)) below.set(parent, [...(below.get(parent) ?? []), each]);
    else roots.push(each);
  }
  const rows: [Process, number][] = [];
  const seen = new Set<Process>();
  const add = (each: Process, depth: number): void => {
    if (seen.has(each)) return;
    seen.add(each);
    rows.push([each, depth]);
    if (each.pid !== undefined) for (const child of below.get(each.pid) ?? []) add(child, depth + 1);
  };
  for (const root of roots) add(root, 0);
  for (const each of processes) add(each, 0);
  return rows;
}

export function Processes({ doc, processes }: { doc: Doc; processes: Process[] }): JSX.Element | null {
  if (!processes.length) return null;
  return <Card title="Processes" note={`${processes.length}`} wide><Table label="Processes" rows={treeOf(processes)} most={200} columns={[
    { head: "program", cell: ([each, depth]) => <span class="tree" style={{ paddingLeft: `${Math.min(depth, 12) * 16}px` }}><b>{each.tool ?? each.exe ?? each.name ?? "?"}</b> <span class="argv mono dim">{(each.argv ?? []).slice(1).join(" ").slice(0, 300)}</span></span> },
    { head: "pid", num: true, narrow: true, cell: ([each]) => String(each.pid ?? "") }, { head: "began", num: true, narrow: true, cell: ([each]) => clock(doc, each.begin_ns ?? each.start_ns, true) },
    { head: "took", num: true, narrow: true, cell: ([each]) => figure(each, "wall_ns", "ns") }, { head: "CPU", num: true, cell: ([each]) => figure(each, "cpu_ns", "ns") },
    { head: "memory", num: true, narrow: true, cell: ([each]) => figure(each, "memory_bytes", "bytes") },
    { head: "ended by", cell: ([each]) => <span class={each.exit_signal !== undefined || (each.exit_code ?? 0) !== 0 ? "fail" : ""}>{ended(each)}</span> },
  ]} /></Card>;
}
