// SPDX-License-Identifier: Apache-2.0
/** What several screens share. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Ask } from "./data";
import { type Container, type Doc, type Finding, type Row, type Share, type Status, number } from "./model";
import { type Whole, duration } from "./figures";
import { kindOf, mainCause, wordOf } from "./words";

const kIcons: Record<string, string> = {
  done: "m3 8.500 3.200 3.200L13 5", running: "M5 3.500v9l7-4.500z", queued: "M8 4.500V8l2.300 1.500M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z", failed: "m4 4 8 8m0-8-8 8",
  error: "M8 4.800v4M8 11v.1M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z", warning: "M8 6.500v3M8 11.500v.1M8 2.500l6 11H2z", note: "M8 7.500v4M8 5v.1M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
  cached: "M3 8.500l3 3 7-7M3 13.500h10", aborted: "M4 4h8v8H4z", stalled: "M5.500 3.500v9m5-9v9", elsewhere: "M3 13 13 3m0 0H6m7 0v7", withdrawn: "M3 8h10", expired: "M3 8h10", find: "M11.500 7A4.500 4.500 0 1 1 2.500 7a4.500 4.500 0 0 1 9 0zM10.500 10.500l3.500 3.500",
  theme: "M13.200 9.600A5.700 5.700 0 0 1 6.400 2.800a5.700 5.700 0 1 0 6.800 6.800z", help: "M5.800 6a2.200 2.200 0 1 1 3.300 1.900c-.8.5-1.100.9-1.100 1.800M8 12.200v.1",
  pause: "M5.500 3.500v9m5-9v9", runs: "M2 4h9M5 8h9M3 12h7", tools: "m3 13 5-5M8.500 3.500a3 3 0 0 1 4 4l-2-1-1 1 1 2a3 3 0 0 1-4-4", compare: "M4.500 3v10M11.500 3v10M2.500 6l2-3 2 3M9.500 10l2 3 2-3", hosts: "M2.500 3h11v4h-11zm0 6h11v4h-11zM5 5v.1M5 11v.1",
};

const kLookMs = 5000;
const kMostRefused = 5;

export function Icon({ name, label }: { name: string; label?: string }): JSX.Element {
  return <svg class={`ic i-${name}`} viewBox="0 0 16 16" {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" })}><path d={kIcons[name]} /></svg>;
}

export const kStatusWords: Record<Status, string> = { queued: "queued", running: "running", failed: "failed", done: "done", cached: "from the cache", aborted: "aborted",
  stalled: "stalled", elsewhere: "elsewhere", withdrawn: "never ran", expired: "expired" };

export const StatusIcon = ({ status }: { status: Status }): JSX.Element => <Icon name={status} label={kStatusWords[status]} />;

export function Card({ title, note, children, wide, id }: { title: string; note?: ComponentChildren; children: ComponentChildren; wide?: boolean; id?: string }): JSX.Element {
  return <section class={`card${wide ? " wide" : ""}`} id={id} aria-label={title}>
    <div class="ph"><h2>{title}</h2>{note && <span class="dim">{note}</span>}</div>{children}</section>;
}

/** Parts of a whole: widths by share, each cause with its hatch. */
export function TimeBar({ time }: { time: Share[] | undefined }): JSX.Element | null {
  if (!time?.length) return null;
  const whole = Math.max(1, time.reduce((sum, each) => sum + each.share, 0));
  return <span class="wb" role="img" aria-label={time.slice(0, 3).map((each) => `${wordOf(each.cause)} ${Math.round(each.share * 100)} %`).join(", ")}>
    {time.map((each) => <i class={`k k-${kindOf(each.cause)}`} style={{ width: `${(100 * each.share) / whole}%` }} />)}</span>;
}

export const Where = ({ time }: { time: Share[] | undefined }): JSX.Element =>
  <span class="wh"><TimeBar time={time} /><span class={`wt${time?.[0] && time[0].cause !== "CPU" ? " strong" : ""}`}>{mainCause(time) || "-"}</span></span>;

/** A part of what was requested; nothing where that is not known. */
export const Used = ({ part, label }: { part: number | undefined; label: string }): JSX.Element | null => part === undefined ? null
  : <span class="u" role="img" aria-label={`${label}: ${Math.round(part * 100)} %`}><i class={part > 0.95 ? "full" : ""} style={{ width: `${Math.min(100, part * 100)}%` }} /></span>;

export type Column<T> = { head: string; cell: (row: T) => ComponentChildren; num?: boolean; narrow?: boolean };

export function Table<T>({ label, rows, columns, most = 200 }: { label: string; rows: T[]; columns: Column<T>[]; most?: number }): JSX.Element {
  return <div class="tbl" tabIndex={0} role="group" aria-label={`${label}: table`}><table>
    <thead><tr>{columns.map((each) => <th scope="col" class={(each.num ? "num" : "") + (each.narrow ? " narrow" : "")}>{each.head}</th>)}</tr></thead>
    <tbody>{rows.slice(0, most).map((row) => <tr>{columns.map((each) => <td class={(each.num ? "num" : "") + (each.narrow ? " narrow" : "")}>{each.cell(row)}</td>)}</tr>)}</tbody>
  </table>{rows.length > most && <p class="dim more">… {rows.length - most} more</p>}</div>;
}

/** What the document has of a key, else what the server says of it: once, and while things live again and again, after `pauseMs`. */
export function useAsked<T>(ask: Ask, what: Parameters<Ask>[0], key: string | undefined, given: T | undefined, live: boolean, pauseMs: (said: T) => number = () => kLookMs): T | undefined {
  const [said, setSaid] = useState<{ key: string | undefined; value: T | undefined }>({ key, value: given });
  useEffect(() => {
    if (given !== undefined || key === undefined) return undefined;
    let here = true;
    let timer = 0;
    let refused = 0;
    const look = (): void => { void ask(what, key).then((value) => {
      if (!here) return;
      if (value !== null) setSaid({ key, value: value as T | undefined });
      // Another may be answered just now.
      const again = live ? value !== undefined : value === null && ++refused <= kMostRefused;
      if (again) timer = window.setTimeout(look, value === null ? kLookMs : pauseMs(value as T));
    }); };
    look();
    return () => { here = false; clearTimeout(timer); };
  }, [key, given, live]);
  return given ?? (said.key === key ? said.value : undefined);
}

const two = (value: number): string => String(value).padStart(2, "0");

/** By the wall clock of who reads, where the host's is known; else since the beginning. */
export function clock(doc: Doc, ns: Whole | undefined, seconds = false): string {
  const offset = doc.hosts[0]?.wall_offset_ns;
  if (ns === undefined || !number(ns)) return "";
  if (offset === undefined) return duration(Math.max(0, number(ns) - number(doc.totals?.first_start_ns)));
  const at = new Date((number(ns) + number(offset)) / 1e6);
  return `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ""}`;
}

export function day(doc: Doc, ns: Whole | undefined): string {
  const offset = doc.hosts[0]?.wall_offset_ns;
  if (ns === undefined || offset === undefined) return "";
  const at = new Date((number(ns) + number(offset)) / 1e6);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Of Unix time. */
export function moment(ns: Whole | undefined): string {
  if (ns === undefined) return "";
  const at = new Date(number(ns) / 1e6);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A link to a place of the page. */
export const to = (...places: (string | undefined)[]): string => `#/${places.map((each) => encodeURIComponent(each ?? "")).join("/")}`;
export const taskLink = (task: { run_key?: string | undefined; task_key?: string | undefined }): string => to("run", task.run_key, "task", task.task_key);
export const findingLink = (finding: Finding): string => to("run", finding.run_key, "why", finding.finding_key);

export const containerName = (of: Container): string => of.name ?? of.image ?? of.container_id.slice(0, 12);

/** A task's name without that of its step, which stands above it. */
export function shortName(task: Row): string {
  const rest = task.step && task.name.startsWith(task.step) ? task.name.slice(task.step.length).trim() : "";
  return rest.startsWith("(") || rest.startsWith(":") ? rest.replace(/^:|^\((.*?)\)( \(attempt \d+\))?$/, "$1$2") : task.name;
}
