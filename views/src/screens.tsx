// SPDX-License-Identifier: Apache-2.0
/** The other screens: a task, why, all runs, tools, hosts. */
import { type ComponentChildren, type JSX } from "preact";
import { type Container, type Doc, type Evidence, type Finding, type Held, type HostMonth, type Process, type Row, type Why, begin, number, statusOf, usedOf } from "./model";
import { type Unit, bytes, duration, figure, kUnknown, share, size, textOf } from "./figures";
import type { Ask } from "./data";
import { Card, Icon, StatusIcon, Table, Used, Where, clock, containerName, day, kStatusWords, taskLink, to, useAsked } from "./parts";
import { FindingRow, RunTiles, toolColumns } from "./run";
import { Processes } from "./processes";
import { kindOf, nameOfEvidence, wordOf } from "./words";

function Ledger({ row }: { row: Row }): JSX.Element | null {
  if (!row.time?.length) return null;
  const unclear = row.time.some((each) => each.cause === "CPU or wait");
  const most = row.time[0]!.share || 1;
  return <Card title="Where its time went" note={row.bound_by && row.bound_share !== undefined ? `bound by ${row.bound_by} ${share(row.bound_share)}` : undefined}><div class="held">{row.time.map((each) => {
    const atLeast = unclear && each.cause === "CPU" ? "≥" : "";
    return <span class="row four"><span class="n">{wordOf(each.cause)}</span><span class="track"><i class={`bar1 k k-${kindOf(each.cause)}`} style={{ width: `${Math.max(1, (100 * each.share) / most)}%` }} /></span>
      <span class="num">{atLeast}{share(each.share)}</span><span class="num dim">{atLeast}{duration(each.time_ns)}</span></span>;
  })}</div></Card>;
}

function Touched({ held }: { held: Held }): JSX.Element {
  return <>
    {(held.files?.length ?? 0) > 0 && <Card title="Files" note="most bytes first"><Table label="Files" rows={held.files!} most={30} columns={[
      { head: "path", cell: (file) => <span class="mono">{file.path}</span> }, { head: "read", num: true, cell: (file) => figure(file, "read_bytes", "bytes") }, { head: "written", num: true, cell: (file) => figure(file, "written_bytes", "bytes") },
      { head: "by", narrow: true, cell: (file) => file.written_by ?? file.read_by ?? "" }]} /></Card>}
    {(held.peers?.length ?? 0) > 0 && <Card title="Other machines"><Table label="Other machines" rows={held.peers!} most={30} columns={[
      { head: "tool", cell: (peer) => peer.tool }, { head: "with", cell: (peer) => <span class="mono">{peer.address ?? ""}{peer.port !== undefined ? `:${peer.port}` : ""} {peer.protocol}</span> },
      { head: "sent", num: true, cell: (peer) => figure(peer, "sent_bytes", "bytes") }, { head: "received", num: true, cell: (peer) => figure(peer, "received_bytes", "bytes") },
      { head: "failed", num: true, narrow: true, cell: (peer) => (number(peer.failed_connects) ? String(peer.failed_connects) : "") }]} /></Card>}</>;
}

const Crumb = ({ children }: { children: ComponentChildren }): JSX.Element => <p class="crumb">{children}</p>;

export function TaskScreen({ doc, taskKey, ask }: { doc: Doc; taskKey: string; ask: Ask }): JSX.Element {
  const live = Boolean(doc.live);
  const held = useAsked<Held>(ask, "held", taskKey, doc.held?.[taskKey], live) ?? {};
  const why = useAsked<Why>(ask, "why", taskKey, doc.why?.[taskKey], live);
  const task = doc.tasks.find((each) => each.task_key === taskKey);
  if (!task) return <Missing what="task" />;
  const status = statusOf(task);
  const findings = doc.findings.filter((each) => each.task_key === taskKey);
  const inIt: Process[] = held.processes?.length ? held.processes : doc.processes.filter((each) => each.task_key === taskKey);
  return <div class="page"><Crumb><span><a href={to("runs")}>Runs</a> / <a href={to("run", task.run_key)}>{doc.runs.find((run) => run.run_key === task.run_key)?.name ?? "run"}</a>{task.step && ` / ${task.step}`}</span>
      <span class={`st ${status}`}><StatusIcon status={status} />{kStatusWords[status]}</span><span>{day(doc, begin(task))} {clock(doc, begin(task), true)}</span>{task.sample && <span>sample {task.sample}</span>}{task.attempt !== undefined && <span>attempt {task.attempt}</span>}{task.task_id && <span class="mono">{task.task_id}</span>}</Crumb>
    <h1 class="big"><b>{task.name}</b>{status === "queued" ? " waits to start" : status === "running" ? ` has been running for ${figure(task, "wall_ns", "ns")}` : ` took ${figure(task, "wall_ns", "ns")}`}{task.queued_ns !== undefined && `, after ${duration(task.queued_ns)} in the queue`}</h1>
    <RunTiles row={task} />
    {findings.length > 0 && <Card title="Needs attention">{findings.map((each) => <FindingRow key={each.finding_key} doc={doc} finding={each} />)}</Card>}
    <div class="two even"><Ledger row={task} />{(task.requested !== undefined || (task.waits_for?.length ?? 0) > 0) && <div class="stackcol">
      {task.requested && <Card title="Requested and used"><dl class="ev">{task.requested.millicpus !== undefined && <><dt>CPU</dt><dd>{figure(task, "cpu_utilization", "share")} of {share(task.requested.millicpus / 1000)}<Used part={usedOf(task, "cpu_utilization")} label="CPU of what was requested" /></dd></>}
        {task.requested.memory_bytes !== undefined && <><dt>memory</dt><dd>{figure(task, "memory_bytes", "bytes")} of {bytes(task.requested.memory_bytes)}<Used part={usedOf(task, "memory_bytes")} label="memory of what was requested" /></dd></>}
        {task.requested.time_ns !== undefined && <><dt>time</dt><dd>{figure(task, "wall_ns", "ns")} of {duration(task.requested.time_ns)}</dd></>}{task.requested.container && <><dt>container</dt><dd class="mono">{task.requested.container}</dd></>}</dl></Card>}
      {(task.waits_for?.length ?? 0) > 0 && <Card title="Waited for other tasks"><dl class="ev">{task.waits_for!.map((each) => <><dt><a href={taskLink({ run_key: task.run_key, task_key: each.task_key })}>{each.name ?? each.task_key}</a></dt><dd>{duration(each.wait_ns)} ({each.cause})</dd></>)}</dl></Card>}</div>}</div>
    <Containers doc={doc} containers={(doc.containers ?? []).filter((each) => each.task_key === taskKey)} ofTask /><Processes doc={doc} processes={inIt} /><div class="many"><Touched held={held} />
      {(why?.neighbors?.length ?? 0) > 0 && <Card title="At the same time" note={why!.disk_wait_device ? `its disk: ${why!.disk_wait_device}` : undefined}><Table label="At the same time" rows={why!.neighbors!} most={12} columns={[
        { head: "task", cell: (each) => each.task_key ? <a href={taskLink({ run_key: each.run_key, task_key: each.task_key })}>{each.name}</a> : each.name }, { head: "together", num: true, cell: (each) => duration(each.together_ns) }, { head: "CPU", num: true, cell: (each) => figure(each, "cpu_ns", "ns") },
        { head: "read", num: true, narrow: true, cell: (each) => figure(each, "read_bytes", "bytes") }, { head: "written", num: true, narrow: true, cell: (each) => figure(each, "written_bytes", "bytes") }]} /></Card>}</div></div>;
}

function evidenceText(each: Evidence): string {
  if (each.text !== undefined) return each.text;
  if (each.value === undefined) return "";
  if (each.unit === "percent") return `${each.value} %`;
  if (each.unit === "bytes/s") return `${bytes(each.value)}/s`;
  return textOf(each.value, (each.unit === "ns" || each.unit === "bytes" ? each.unit : "count") as Unit);
}

export function WhyScreen({ doc, findingKey }: { doc: Doc; findingKey: string }): JSX.Element {
  const finding: Finding | undefined = doc.findings.find((each) => each.finding_key === findingKey);
  if (!finding) return <Missing what="finding" />;
  const task = doc.tasks.find((each) => each.task_key !== undefined && each.task_key === finding.task_key);
  const like = doc.findings.filter((each) => each.code === finding.code && each !== finding);
  return <div class="page"><Crumb><span><a href={to("run", finding.run_key)}>{doc.runs.find((run) => run.run_key === finding.run_key)?.name ?? "Run"}</a> / why</span>
      <span class={`st ${finding.severity}`}><Icon name={finding.severity} />{finding.severity}</span><span>since {clock(doc, finding.first_ns, true)}</span><span>confidence: {finding.confidence}</span><span>{finding.state === "open" ? "still so" : "over"}</span></Crumb>
    <h1 class="big">{finding.text}</h1>
    {finding.advice && <div class="try"><b>Try</b><p>{finding.advice}</p></div>}
    <div class="two even"><Card title="Evidence"><dl class="ev">{finding.evidence.map((each) => <><dt>{nameOfEvidence(each.name)}</dt><dd>{evidenceText(each)}</dd></>)}{finding.tool !== undefined && <><dt>program</dt><dd>{finding.tool}{finding.pid !== undefined && ` (pid ${finding.pid})`}</dd></>}<dt>code</dt><dd class="mono">{finding.code}</dd></dl></Card>
      {task && <Ledger row={task} />}</div>
    {task && <Card title="The task" wide><Table label="The task" rows={[task]} columns={taskColumns()} /></Card>}
    {like.length > 0 && <Card title="The same elsewhere" note={String(like.length)} wide>{like.slice(0, 20).map((each) => <FindingRow key={each.finding_key} doc={doc} finding={each} />)}</Card>}</div>;
}

function taskColumns(): { head: string; cell: (row: Row) => ComponentChildren; num?: boolean; narrow?: boolean }[] {
  return [{ head: "task", cell: (row) => <a href={taskLink(row)}>{row.name}</a> }, { head: "wall", num: true, cell: (row) => figure(row, "wall_ns", "ns") }, { head: "CPU", num: true, narrow: true, cell: (row) => figure(row, "cpu_ns", "ns") },
    { head: "time went to", cell: (row) => <Where time={row.time} /> }, { head: "memory", num: true, narrow: true, cell: (row) => figure(row, "memory_bytes", "bytes") }];
}

function Containers({ doc, containers, ofTask }: { doc: Doc; containers: Container[]; ofTask?: boolean }): JSX.Element | null {
  if (!containers.length) return null;
  return <Card title={ofTask && containers.length === 1 ? "Container" : "Containers"} wide><Table label="Containers" rows={containers} most={500} columns={[
    { head: "container", cell: (each) => <span class="mono">{containerName(each)}</span> }, { head: "image", narrow: true, cell: (each) => <span class="mono">{each.image ?? "-"}</span> }, { head: "by", narrow: true, cell: (each) => each.runtime ?? "-" },
    ...(ofTask ? [] : [{ head: "task", cell: (each: Container) => each.task_key ? <a href={taskLink(each)}>{each.task ?? "task"}</a> : "" }]), { head: "began", narrow: true, cell: (each) => clock(doc, each.begin_ns, true) },
    { head: "took", num: true, cell: (each) => figure(each, "wall_ns", "ns") }, { head: "processes", num: true, narrow: true, cell: (each) => figure(each, "processes", "count") }, { head: "memory", num: true, cell: (each) => figure(each, "peak_bytes", "bytes") }]} /></Card>;
}

/** What else of a machine the report has. */
function Machine({ doc }: { doc: Doc }): JSX.Element {
  return <>
    {(doc.gpus?.length ?? 0) > 0 && <Card title="GPUs"><Table label="GPUs" rows={doc.gpus!} columns={[{ head: "GPU", cell: (each) => `${each.gpu} ${each.name ?? ""}` }, { head: "used", num: true, cell: (each) => figure(each, "used_ns", "ns") },
      { head: "busy", num: true, narrow: true, cell: (each) => `${figure(each, "busy_ns", "ns")} of ${figure(each, "span_ns", "ns")}` }, { head: "memory", num: true, cell: (each) => `${figure(each, "memory_peak_bytes", "bytes")} of ${figure(each, "capacity_bytes", "bytes")}` }, { head: "most by", narrow: true, cell: (each) => each.task ?? each.tool ?? "" }]} /></Card>}
    {(doc.cgroups?.length ?? 0) > 0 && <Card title="Memory of cgroups" note="containers and jobs"><Table label="Memory of cgroups" rows={doc.cgroups!} most={20} columns={[{ head: "cgroup", cell: (each) => <span class="mono">{each.path ?? "?"}</span> }, { head: "peak", num: true, cell: (each) => bytes(each.peak_bytes) },
      { head: "processes", num: true, narrow: true, cell: (each) => figure(each, "held_bytes", "bytes") }, { head: "page cache", num: true, narrow: true, cell: (each) => figure(each, "file_bytes", "bytes") }]} /></Card>}
    {(doc.file_systems?.length ?? 0) > 0 && <Card title="File systems"><Table label="File systems" rows={doc.file_systems!} columns={[{ head: "kind", cell: (each) => each.filesystem }, { head: "read", num: true, cell: (each) => figure(each, "read_bytes", "bytes") }, { head: "written", num: true, cell: (each) => figure(each, "written_bytes", "bytes") }]} /></Card>}
    {doc.cost && <Card title="What the tracing cost"><dl class="ev"><dt>CPU</dt><dd>{figure(doc.cost, "cpu_ns", "ns")}</dd><dt>memory</dt><dd>{figure(doc.cost, "memory_bytes", "bytes")}</dd></dl></Card>}</>;
}

export function ToolsScreen({ doc, words }: { doc: Doc; words: string }): JSX.Element {
  const lower = words.toLowerCase();
  const tools = doc.tools.filter((tool) => !lower || tool.name.toLowerCase().includes(lower));
  if (!doc.tools.length) return <div class="page"><h1 class="big">Tools</h1><p class="dim">There are no sums by tool here; the report of a recording has them.</p></div>;
  return <div class="page"><h1 class="big"><b>{doc.tools.length}</b> tools, most CPU time first</h1><Card title="Tools" wide><Table label="Tools" rows={tools} most={500} columns={toolColumns()} /></Card>
    <Containers doc={doc} containers={(doc.containers ?? []).filter((each) => !lower || [each.name, each.image, each.task].some((text) => text?.toLowerCase().includes(lower)))} />
    {doc.failures.length > 0 && <Card title="Failed" wide><Table label="Failed" rows={doc.failures} columns={[{ head: "tool", cell: (each) => <b>{each.tool ?? each.exe ?? "?"}</b> }, { head: "ended by", cell: (each) => <span class="fail">{each.oom_killed ? "out of memory" : each.exit_signal !== undefined ? `signal ${each.exit_signal}` : `status ${each.exit_code}`}</span> },
      { head: "times", num: true, cell: (each) => String(each.count) }, { head: "task", narrow: true, cell: (each) => each.task_key ? <a href={taskLink(each)}>{each.task ?? each.step ?? "task"}</a> : "" }, { head: "command", cell: (each) => <span class="mono dim">{(each.argv ?? []).join(" ").slice(0, 300)}</span> }]} /></Card>}
    {(doc.pipes?.length ?? 0) > 0 && <Card title="Pipes" wide><Table label="Pipes" rows={doc.pipes!} columns={[{ head: "programs", cell: (each) => each.stages.map((stage, i) => <>{i > 0 && " → "}{stage === each.bottleneck ? <b class="warn">{stage}</b> : stage}</>) }, { head: "waited", num: true, cell: (each) => duration(each.waited_ns) }, { head: "slowest", cell: (each) => each.bottleneck ?? "" }]} /></Card>}
    {doc.processes.length > 0 && <Processes doc={doc} processes={doc.processes} />}</div>;
}

const kUsers = [["task_cpu_ns", "by tasks", "computing"], ["other_cpu_ns", "by others", "other"], ["idle_cpu_ns", "idle", "idle"]] as const;

/** Who used the CPUs of a host in a month; what is not known is left empty. */
function Months({ months }: { months: HostMonth[] }): JSX.Element {
  const part = (each: HostMonth, name: string): number => (number(each.all_cpu_ns) ? (size(each, name) ?? 0) / number(each.all_cpu_ns) : 0);
  const said = (each: HostMonth, name: (typeof kUsers)[number][0]): string =>
    size(each, name) === undefined || !number(each.all_cpu_ns) ? kUnknown : `${each[name] === undefined ? "≥ " : ""}${share(part(each, name))}`;
  return <Card title="Month by month" note={<span class="legend">{kUsers.map(([, word, kind]) => <span><i class={`key k k-${kind}`} />{word}</span>)}</span>} wide><Table label="Month by month" rows={months} most={500} columns={[
    { head: "month and host", cell: (each) => <span class="when"><span>{each.month}</span> <span class="source" title={each.host}>{each.host}</span></span> },
    { head: "CPUs used", cell: (each) => each.all_cpu_ns === undefined ? <span class="dim">not watched</span> : <span class="wb long" role="img" aria-label={kUsers.map(([name, word]) => `${word} ${said(each, name)}`).join(", ")}>
      {kUsers.map(([name, , kind]) => <i class={`k k-${kind}`} style={{ width: `${100 * part(each, name)}%` }} />)}</span> },
    ...kUsers.map(([name, head, kind]) => ({ head, num: true, narrow: kind !== "idle", cell: (each: HostMonth) => said(each, name) })),
    { head: "CPUs", num: true, narrow: true, cell: (each) => figure(each, "cpus", "count") }, { head: "watched", num: true, narrow: true, cell: (each) => figure(each, "observed_ns", "ns") },
    { head: "tasks", num: true, cell: (each) => String(each.tasks) }, { head: "failed", num: true, narrow: true, cell: (each) => (number(each.failed_tasks) ? <span class="fail">{String(each.failed_tasks)}</span> : "") }]} /></Card>;
}

export function HostsScreen({ doc, ask }: { doc: Doc; ask: Ask }): JSX.Element {
  const sure = doc.certificate;
  const said = useAsked<{ months: HostMonth[] }>(ask, "hosts", "all", undefined, false);
  const count = doc.lake ? new Set(said?.months.map((each) => each.host)).size : doc.hosts.length;
  return <div class="page"><h1 class="big">{doc.lake && !said ? "Reading …" : <><b>{count || "No"}</b> {count === 1 ? "host" : "hosts"}</>}</h1>
    {said && (said.months.length ? <Months months={said.months} /> : <p class="dim">Hosts are known as soon as the lake has tables: tracer lake compact</p>)}
    <div class="many">{doc.hosts.map((host) => <Card title={host.name || "host"}><dl class="ev">{host.cpus !== undefined && <><dt>CPUs</dt><dd>{host.cpus}</dd></>}{host.memory_bytes !== undefined && <><dt>memory</dt><dd>{bytes(host.memory_bytes)}</dd></>}
        {host.kernel && <><dt>kernel</dt><dd>Linux {host.kernel}</dd></>}{host.version && <><dt>traced by</dt><dd>libtracer {host.version}</dd></>}</dl></Card>)}
      {doc.devices.length > 0 && <Card title="Disks" note="for the whole host"><Table label="Disks" rows={doc.devices} columns={[{ head: "disk", cell: (each) => each.name }, { head: "read", num: true, cell: (each) => figure(each, "read_bytes", "bytes") }, { head: "written", num: true, cell: (each) => figure(each, "written_bytes", "bytes") },
        { head: "busy", num: true, cell: (each) => each.busy_ns === undefined ? "-" : `${duration(each.busy_ns)} of ${duration(each.span_ns)}` }, { head: "most asked by", narrow: true, cell: (each) => each.task ?? each.tool ?? "" }]} /></Card>}
      {sure && <Card title={sure.complete ? "Complete" : "Not complete"}><dl class="ev"><dt>ended processes seen</dt><dd>{String(sure.exits_seen)}{sure.ended !== undefined && ` of ${sure.ended}`}</dd>
        {Object.entries(sure.losses).map(([cause, count]) => <><dt>lost: {cause}</dt><dd>{String(count)}</dd></>)}{sure.missed_at_most !== undefined && <><dt>missed at most</dt><dd>{String(sure.missed_at_most)}</dd></>}
        {sure.missing.map((each) => <><dt>without {each.family}</dt><dd>{each.what ?? ""}{each.fix && `; ${each.fix}`}</dd></>)}</dl></Card>}<Machine doc={doc} /></div>
    {(doc.files.length > 0 || doc.peers.length > 0) && <div class="many"><Touched held={{ files: doc.files, peers: doc.peers }} /></div>}</div>;
}

export function Missing({ what }: { what: string }): JSX.Element {
  return <div class="empty"><h1 class="big">No {what} here{what === "run" && " yet"}</h1><p class="dim">{what === "run" ? "A run appears as soon as a workflow engine, tracerd run or a label begins one:" : "It was dropped for lack of room, or belongs to another source."}</p>
    {what === "run" && <pre class="mono">tracerd run -- snakemake --cores 8{"\n"}tracerd run -- nextflow run main.nf</pre>}<p><a href={to("runs")}>All runs</a></p></div>;
}
