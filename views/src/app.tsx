// SPDX-License-Identifier: Apache-2.0
/** The page: its bar, its places, its keys. */
import { type JSX, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Told, follow } from "./data";
import type { ListedRun } from "./model";
import { CompareScreen } from "./compare";
import { Icon, to } from "./parts";
import { Patterns } from "./lanes";
import { RunScreen } from "./run";
import { RunsScreen } from "./runs";
import { HostsScreen, Missing, TaskScreen, ToolsScreen, WhyScreen } from "./screens";

const kPlaces: [string, string][] = [["runs", "Runs"], ["tools", "Tools"], ["hosts", "Hosts"]];
const kCompare: [string, string][] = [["compare", "Compare"]];

// In the frame of a notebook a link to a place would lead out of it.
const isFramed = location.protocol === "about:";
let hash = location.hash;
if (isFramed) addEventListener("click", (event) => {
  const link = (event.target as Element).closest?.('a[href^="#/"]');
  if (link) { event.preventDefault(); go(link.getAttribute("href")!); }
});

function go(place: string): void {
  if (!isFramed) { location.hash = place; return; }
  hash = place;
  dispatchEvent(new Event("hashchange"));
}

const placeOf = (): string[] => (isFramed ? hash : location.hash).replace(/^#\/?/, "").split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });

let tell: (told: Told) => void = () => undefined;
let first: Told | undefined;
const source = follow((told) => { first = told; tell(told); });

function turnTheme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function Screen({ told, place, words }: { told: Told; place: string[]; words: string }): JSX.Element {
  const { doc } = told;
  if (!doc) return told.error ? <div class="empty"><h1 class="big">Nothing to show</h1><p>{told.error}</p>{told.sources.length > 0 && <p><a href={to("runs")}>All runs</a></p>}</div>
    : <div class="page" aria-busy="true"><h1 class="big">{told.fetching ? "Fetching the run's recordings from the lake …" : "Reading …"}</h1><div class="skel" /><div class="skel tall" /></div>;
  const [screen = "", key = "", below = "", what = ""] = place;
  if (screen === "run" && below === "task") return <TaskScreen doc={doc} taskKey={what} ask={source.ask} />;
  if (screen === "run" && below === "why") return <WhyScreen doc={doc} findingKey={what} />;
  if (screen === "tools") return <ToolsScreen doc={doc} words={words} />;
  if (screen === "compare") return <CompareScreen told={told} a={key} b={below} ask={source.ask} />;
  if (screen === "hosts") return <HostsScreen doc={doc} ask={source.ask} />;
  if (screen === "runs" || (screen === "" && (doc.live || doc.lake || doc.runs.length > 1))) return <RunsScreen told={told} doc={doc} words={words} ask={source.ask} />;
  if ((key && !doc.runs.some((run) => run.run_key === key)) || (!doc.runs.length && !doc.totals)) return <Missing what="run" />;
  return <RunScreen doc={doc} runKey={key} words={words} ask={source.ask} />;
}

function Sure({ told }: { told: Told }): JSX.Element | null {
  const sure = told.doc?.certificate;
  const lost = told.doc?.counts ? Object.values(told.doc.counts.lost).reduce((sum: number, each) => sum + Number(each), 0) : 0;
  if (!sure && !lost) return null;
  const complete = sure ? sure.complete : !lost;
  return <a class={`chip ${complete ? "wide" : "warn"}`} href={to("hosts")}><Icon name={complete ? "done" : "warning"} />{complete ? "complete" : "not complete"}</a>;
}

function App(): JSX.Element {
  const [told, setTold] = useState<Told>(first ?? { doc: undefined, link: "still", sources: [], source: "" });
  const [place, setPlace] = useState(placeOf());
  const [words, setWords] = useState("");
  const [paused, setPaused] = useState(false);
  const find = useRef<HTMLInputElement>(null);
  const help = useRef<HTMLDialogElement>(null);
  const main = useRef<HTMLElement>(null);
  const pause = (): void => { source.pause(!paused); setPaused(!paused); };
  useEffect(() => {
    tell = setTold;
    if (first) setTold(first);
    const moved = (): void => { setPlace(placeOf()); setWords(""); scrollTo(0, 0); main.current?.focus({ preventScroll: true }); };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/INPUT|SELECT|TEXTAREA/.test((event.target as Element).tagName)) { if (event.key === "Escape") (event.target as HTMLElement).blur(); return; }
      const does: Record<string, () => void> = { "/": () => find.current?.focus(), "?": () => help.current?.showModal(), t: turnTheme, p: pause, r: () => go(to("runs")),
        o: () => go(to("tools")), h: () => go(to("hosts")), Escape: () => { if (!help.current?.open && place.length > 2) go(to("run", place[1])); } };
      if (does[event.key]) { does[event.key]!(); if (event.key === "/") event.preventDefault(); }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  useEffect(() => {
    if (told.doc || told.error) document.documentElement.dataset.ready = "yes";
    document.title = told.doc ? `${told.doc.title} – tracer` : "tracer";
  }, [told]);
  // A run of another source: that one is shown.
  useEffect(() => {
    const [screen, key] = place;
    const lake = told.sources.find((each) => each.kind === "lake");
    const shown = told.sources.find((each) => each.source === told.source);
    // Its list has what all hosts saw of a run.
    if (lake && ((screen === "runs" && shown?.lake !== undefined) || (screen !== "run" && told.error !== undefined))) { source.choose(shown?.lake ?? lake.source); return; }
    if (screen !== "run" || !key || !told.doc || told.doc.runs.some((run) => run.run_key === key)) return;
    void source.ask("runs", "all").then((said) => {
      const other = (said as { runs: ListedRun[] } | null | undefined)?.runs.find((run) => run.run_key === key);
      if (placeOf()[1] !== key) return;
      const from = other ? told.sources.find((each) => each.source === other.source && each.kind === "lake") : lake;
      if (from || (other && other.source !== told.source)) setPaused(false);
      if (from) source.fetchRun(from.source, key);
      else if (other && other.source !== told.source) source.choose(other.source);
    });
  }, [place.join("/"), told.source, told.doc === undefined]);
  const current = place[0] === "run" || place[0] === "" ? "runs" : place[0];
  const links = (icons: boolean): JSX.Element[] => [...kPlaces, ...(told.sources.filter((each) => each.kind === "recording").length > 1 ? kCompare : [])].map(([name, word]) => <a href={to(name)} {...(current === name ? { "aria-current": "page" as const } : {})}>{icons && <Icon name={name} />}{word}</a>);
  return <>
    <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the run</a>
    <header class="bar"><a class="brand" href={to("runs")} aria-label="tracer, all runs"><svg viewBox="0 0 20 20" aria-hidden="true"><rect class="f-computing" x="1" y="3" width="11" height="3.600" rx="1" /><rect class="f-disk" x="5" y="8.200" width="14" height="3.600" rx="1" /><rect class="f-lock" x="3" y="13.400" width="8" height="3.600" rx="1" /></svg><span>tracer</span></a>
      <nav class="nav" aria-label="Screens">{links(false)}</nav>
      {told.sources.length > 1 && <select aria-label="Source" value={told.source} onChange={(event) => { setPaused(false); source.choose(event.currentTarget.value); }}>{told.sources.map((each) => <option value={each.source}>{each.name}</option>)}</select>}
      <span class="gap" /><label class="find"><Icon name="find" /><input ref={find} type="search" placeholder="Find a task, tool, sample" aria-label="Find a task, tool or sample" value={words} onInput={(event) => setWords(event.currentTarget.value)} /><kbd aria-hidden="true">/</kbd></label>
      <span class={`chip ${told.link === "lost" ? "warn" : ""}`} role="status">{told.link === "still" ? told.doc && <span class="wide">{told.doc.lake ? "lake" : "recording"}</span> : told.link === "lost" ? <><span class="pulse off" />disconnected</> : paused ? <><span class="pulse off" />paused</> : <><span class="pulse" />live</>}</span>
      <Sure told={told} />
      {told.link !== "still" && <button class="ib" aria-pressed={paused} aria-label={paused ? "Go on" : "Pause"} onClick={pause}><Icon name={paused ? "running" : "pause"} /></button>}
      <button class="ib" aria-label="Light or dark" onClick={turnTheme}><Icon name="theme" /></button>
      <button class="ib wide" aria-label="Keys" onClick={() => help.current?.showModal()}><Icon name="help" /></button></header>
    {told.link === "lost" && <div class="banner" role="alert"><Icon name="warning" /><span><b>Disconnected.</b> This is the last known state; the runs continue. It connects again by itself.</span></div>}
    {told.sources.find((each) => each.source === told.source)?.warning && <div class="banner" role="status"><Icon name="warning" /><span>{told.sources.find((each) => each.source === told.source)!.warning}</span></div>}
    <main id="main" tabIndex={-1} ref={main}><Screen told={told} place={place} words={words} /></main>
    <nav class="tabbar" aria-label="Screens, below">{links(true)}</nav>
    <dialog ref={help} aria-labelledby="keys"><form method="dialog"><h2 id="keys">Keys</h2><button class="btn">Close</button></form>
      <dl class="keys">{[["/", "find"], ["r", "runs"], ["o", "tools"], ["h", "hosts"], ["t", "light or dark"], ["p", "pause"], ["Esc", "back to the run"], ["?", "this list"]].map(([key, word]) => <><dt><kbd>{key}</kbd></dt><dd>{word}</dd></>)}</dl>
      <p class="dim">Solid means working. Hatched means waiting, each kind with its own hatch.</p></dialog>
    <Patterns /></>;
}

render(<App />, document.getElementById("app")!);
