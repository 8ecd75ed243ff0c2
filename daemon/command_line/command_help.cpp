// SPDX-License-Identifier: Apache-2.0
#include "command_line/command_help.hpp"

#include <fmt/format.h>

#include <tracer/families.hpp>

namespace tracerd {
namespace {

/// Help in the form of manual pages: a line of usage, then what the command does, then its options.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(24); }
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const override {
    std::string text = make_usage(app, {}) + '\n' + app->get_description() + '\n' + make_groups(app, mode) +
                       make_subcommands(app, mode);
    text.erase(text.find_last_not_of('\n') + 1);
    return text + '\n' + app->get_footer();
  }
  std::string make_usage(const CLI::App* app, std::string) const override {
    if (app->get_parent() == nullptr) return "usage: tracerd COMMAND [OPTIONS] | --help | --version\n";
    const std::string& name = app->get_name();
    const char* words = name == "run"       ? "[OPTIONS] [--] COMMAND [ARGUMENT ...]"
                        : name == "watch"   ? "--pid N | --cgroup PATH | --host [OPTIONS]"
                        : name == "dump"    ? "[--explain] FILE ..."
                        : name == "export"  ? "[--trace FILE] [--benchmark FOLDER] FILE ..."
                        : name == "explain" ? "PID"
                        : name == "setup"   ? "[--capabilities] [--dry-run] [--undo]"
                        : name == "check"   ? "[--json] [--rules FILE]"
                        : name == "report"  ? "[--by ROWS | --json | --html] [FILE ...]"
                        : name == "compare" ? "[--json] A B | run:KEY run:KEY"
                        : name == "history" ? "[--json] [--pipeline NAME] [--prune AGE | --delete]"
                        : name == "why"     ? "[--json] [FILE ...] [TASK|PID]"
                        : name == "log"     ? "[-f] [--json] [RUN | FILE ...] [TASK]"
                        : name == "files"   ? "[--json] [FILE ...]"
                        : name == "lineage" ? "[--json | --dot] [FILE ...]"
                        : name == "runs"    ? "[--json]"
                        : name == "serve"   ? "[--config FILE] [--check] [--foreground] [--socket PATH]"
                        : name == "status"  ? "[--json | --prometheus] [--socket PATH]"
                        : name == "task"    ? "[--sample NAME] [--step NAME] [--name NAME] [--] COMMAND [ARGUMENT ...]"
                                            : "";
    return fmt::format("usage: tracerd {}{}{}\n", name, *words == '\0' ? "" : " ", words);
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    const std::string& description = sub->get_description();
    return fmt::format("  {:<10}{}\n", sub->get_name(), description.substr(0, description.find('\n')));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : " " + option->get_type_name();
  }
};

constexpr const char* kDescription =
    "Reports which programs ran and what each consumed, from the Linux kernel's own "
    "accounting.";
constexpr const char* kFooter = R"(
'tracerd COMMAND --help' explains each command. Tracing needs root (sudo), or what
'tracerd setup' sets up once, and Linux 5.10 or later with BTF; 'tracerd check' reports what this machine has.
)";

constexpr const char* kRunDescription = R"(Trace a command and everything it starts.

The command runs unmodified. When it ends, tracerd prints a table on standard error. The command keeps its terminal, its
signals and its exit status. Options after the first word of COMMAND belong to COMMAND.)";
constexpr const char* kRunFooter = R"(
The first Ctrl-C goes to the command. A second one detaches: tracerd prints the table so far, and the command continues.
Exit status: the command's, or 128+n if signal n ended it; 126: it can't be executed; 127: it does not exist; 125:
tracerd itself failed before the command ran; 2: the command line is wrong.
)";

constexpr const char* kWatchDescription = R"(Trace what is already running.

Traces until Ctrl-C, or until the whole tree of --pid has ended; then prints a table. Processes that lived before are
reported with the accounts of their whole life, and attached_ns.)";

constexpr const char* kDumpDescription = R"(Print a recording as JSON lines.

The first line is the host and its clock; each other line is an event, with `kind` first. Times are nanoseconds of the
boot clock: add the host's wall_offset_ns to get Unix time. An unknown value is null. Damage is reported on standard
error.)";

constexpr const char* kExportDescription = R"(Write the tasks of a recording to files that other tools read.

--trace writes a table like that of 'nextflow run -with-trace'; --benchmark writes a file for each task, like
Snakemake's. The values include all processes of a task: CPU time, bytes, and the most memory that they held at once.
A value that is not known exactly is '-' or 'NA'; of memory, the columns 'at_most' have an upper bound.)";

constexpr const char* kReportDescription = R"(Print the table of one or several recordings.

Prints the table that 'tracerd run' printed at its end, on standard output. With several recordings, such as those of
the machines that a run used, it prints their sums. Requests that tasks did not use have a cost by the price that
'tracer prices use TYPE' has chosen, an estimate: docs/cost.md explains it.)";

constexpr const char* kRunsDescription = R"(List your runs that the service has recorded.

Prints each run with its pipeline, when it began, how long it took, how many of its tasks are ok, failed or wait, how
many findings there are, and how large the recordings are that it is in. Needs a service that records by owner:
docs/service.md. 'tracerd report', 'why', 'log', 'files' and 'lineage' without a file take the latest of them.)";

constexpr const char* kCompareDescription = R"(Compare two recordings, or two runs of the history.

Prints how long B took instead of A, why, and what failed; then what changed, by step and by tool: wall time, CPU time,
peak memory, bytes read and written. A difference is called a change only if chance does not explain it: with at least 3
tasks on both sides by a test of ranks, else above 25 %, with a note. Tasks that failed are counted, not compared.
'tracerd history' lists runs; of those, tasks are compared by step, and what other runs took shows how much is noise.
docs/history.md explains the test.)";

constexpr const char* kHistoryDescription = R"(Print or delete the history of runs.

'tracerd run' keeps what each task and run took, but no path, no argument and no name of a sample, in
~/.local/state/tracer/history.db. From it comes what is usual. Prints the kinds of tasks in it with their usual time,
memory and bytes. docs/history.md describes the file.)";
constexpr const char* kWhyDescription = R"(Explain what was found wrong, or one task or process.

With a recording alone, prints all findings: what failed, is slow or stands still, the evidence, and what to try. With a
task or run (its name, sample, id, key, or a part of its name) or a pid, prints when it ran, where its time went, its
processes, the findings about it, and what ran at the same time. If a number is a pid and a task's id, pid:N is the
process.

--json prints one JSON object, which docs/findings.md describes; for a pid, one for each process that had it.
Exit status: 0; 1: there is no such task or process; 2: several are called so.)";

constexpr const char* kLogDescription = R"(Print what happened, in order.

Prints a line for each start and end of a run, task, container and process, with the exit status, CPU time, memory and
files of the process, and for each finding: what the kernel saw, whatever became of the job's own logs. A process that
ended well within a second has no line for its start, and several of one tool in one task are one line. With a task (its
name, sample, step, id or key, or a word of its name), prints only what is about it. Times are local.

-f goes on as more happens: in a file that is being written, to its end; without one, in what the service traces of
yours from now on.

--json prints the events themselves, one JSON object a line, as 'tracerd dump' does.
Exit status: 0; 1: there is no such task.)";

constexpr const char* kFilesDescription = R"(Print the files that a recording's tasks used.

Prints the regular files with the most bytes read and written: their size, their role (input: written by nobody here;
intermediate: written, and read afterwards; output: written, and not read afterwards), and the tasks that wrote and read
them. Files of the system and of programs are left out. A '-' means that the amount is not known: the file was mapped,
or read at given positions.)";

constexpr const char* kLineageDescription = R"(Print which task read what another wrote.

Prints the files that each task read and wrote, with the task that a file came from or went to. --dot prints a graph for
Graphviz: tracerd lineage --dot FILE | dot -Tsvg > lineage.svg)";

constexpr const char* kTaskDescription = R"(Run a command as a task with a name.

For scripts that run under 'tracerd run' or 'tracerd watch': the table counts the command for this task and sample.
Needs no rights. Without a trace, it just runs the command.

  for s in S1 S2 S3; do tracerd task --sample $s --step align -- ./align.sh $s; done)";
constexpr const char* kTaskFooter = R"(
Exit status: the command's; 126: it can't be executed; 127: it does not exist; 2: the command line is wrong.
)";

constexpr const char* kExplainDescription = R"(Explain which run and task a living process belongs to.

Reads the process and its ancestors in /proc, and prints each field of its context with the rule that gives it and the
condition of that rule. It does not know labels and announcements of a session: see 'tracerd dump --explain'.)";

constexpr const char* kSetupDescription = R"(Let users trace without sudo, once and for all.

Where systemd runs, installs and starts the service, which traces for every user their own processes. Elsewhere, or with
--capabilities, puts a copy of this program into /usr/local/bin that members of the group tracers may trace with, and
makes you one. Asks sudo once, and prints each command that changes something before it runs it. The copy is needed as
a tracerd in a home, of pip or conda loses its capabilities with each upgrade, and never has any on NFS and nosuid mounts.
Run it again to upgrade the copy.)";

constexpr const char* kCheckDescription = R"(Report what this machine allows.

Lists what tracing needs and what is missing, each problem with its error code and its fix. Loads and attaches the
programs for a moment to test that, and measures by how much the family syscalls slows each system call of the host.
Exit status: 0: tracing works; 1: something required is missing.

--json prints one object: "works"; "problems", each with "code", "message" and "fix"; "families", each with "name",
"available", "mechanism" and "problem".

With --rules, it checks a file of rules for engines instead: it reports all mistakes with their lines, and tries the
file's examples. Exit status: 0: the file is correct; 1: it is not.)";

constexpr const char* kServeDescription = R"(Serve every user of this host.

Traces the whole host and serves each user live with their own runs, tasks and processes: to tracer.connect(), views,
plugins, and whatever speaks the protocol of docs/protocol.md. /etc/tracer/tracerd.toml configures it; docs/service.md
describes each key. Needs root; gives up what it does not need once it traces.)";
constexpr const char* kServeFooter = R"(
SIGTERM ends it, SIGHUP begins a new recording. Exit status: 0: it was asked to end, or the configuration has no
mistakes; 1: an error.
)";

constexpr const char* kStatusDescription = R"(Report what the service does.

Prints what it traces, what it costs and lost, and what you hold of it; as root, what each user holds, and the
recordings.)";

std::string families_help() {
  const auto names = [](tracer::FamilyUse use) {
    std::string text;
    for (const tracer::FamilyInfo& info : tracer::kFamilies)
      if (info.use == use) text += (text.empty() ? "" : ", ") + std::string(info.name);
    return text;
  };
  return fmt::format("{} (default), {}; or none", names(tracer::FamilyUse::kByDefault),
                     names(tracer::FamilyUse::kOnRequest));
}

CLI::Option* add(CLI::App& app, const std::string& name, const char* value, const std::string& description) {
  return app.add_option(name, CLI::callback_t{}, description)
      ->type_name(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

constexpr const char* kRecordings = "Recordings, their files or their folders; - is standard input";
constexpr const char* kRecordingsOrLatest =
    "Recordings, their files or their folders; - is standard input (default: your latest run, see tracerd runs)";

/// All words that are no options.
void add_files(CLI::App& app, const char* name, const char* description) {
  add(app, name, "", description)->expected(-1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_flag(CLI::App& app, const std::string& name, const std::string& description) {
  app.add_flag_function(
      name, [](std::int64_t) {}, description);
}

void add_rules_options(CLI::App& app) {
  add(app, "--engine-rules", "FILE", "Your own rules for engines, before the built-in ones");
  add(app, "--secret-rules", "FILE", "Your own rules for secrets in arguments, in place of the built-in ones");
  add_flag(app, "--no-engine-notes", "Don't read names in files that engines have written");
}

void add_tracing_options(CLI::App& app) {
  add(app, "--record", "FILE", "Write a recording (see tracerd report); an older FILE is kept as FILE.1");
  add(app, "--json", "FILE", "Write events as JSON lines while they happen; '-': standard output");
  add(app, "--max-size", "SIZE", "Size limit of each of these files, at least 1MiB, such as 2GiB (default: none)");
  add(app, "--rotate", "N", "Rotate at --max-size, keeping N older files, FILE.1 to FILE.N");
  add(app, "--pipeline", "NAME", "Label the traced processes with a pipeline");
  add(app, "--run", "NAME", "... with a run of it");
  add(app, "--step", "NAME", "... with a step");
  add(app, "--sample", "NAME", "... with a sample");
  add(app, "--families", "LIST", families_help());
  add(app, "--interval", "MS", "At most this many milliseconds between two snapshots, at least 100 (default: 1000)");
  add(app, "--max-cost", "PERCENT", "Disable the most expensive family above this share of one CPU (default: never)");
  add(app, "--ring", "MIB", "Size of the buffer between kernel and tracerd, a power of two (default: at least 8)");
  add(app, "--max-processes", "N", "Most processes followed at one time (default: depends on the machine)");
  add(app, "--max-threads", "N", "Most threads whose waits are followed at one time (default: depends on the machine)");
  add(app, "--max-cgroups", "N", "Most cgroups below the watched ones (default: depends on the machine)");
  add(app, "--by", "ROWS", "Rows: run, step, task, sample, tool, process or tree (default: what is worth a look)");
  add(app, "--trace", "FILE", "At the end, write the tasks in the format of Nextflow's trace (see tracerd export)");
  add(app, "--report", "FILE", "At the end, write the report: FILE.json or FILE.html; an older FILE is kept as FILE.1");
  add_rules_options(app);
  add_flag(app, "--hash-paths", "Write hashes in place of paths and addresses, and no arguments");
  add_flag(app, "--no-live", "Don't show what is running on the last line of the terminal");
}

}  // namespace

std::unique_ptr<CLI::App> make_app() {
  auto app = std::make_unique<CLI::App>(kDescription, "tracerd");
  app->formatter(std::make_shared<HelpFormatter>());
  app->set_help_flag("-h,--help", "Print this help");
  app->set_version_flag("--version", "tracerd", "Print the version");
  app->require_subcommand(1);
  CLI::App& run = *app->add_subcommand("run", kRunDescription);
  add_tracing_options(run);
  add(run, "--user", "NAME|UID",
      "Run the command as this user (default: yourself, also with sudo); it can't inject terminal input");
  run.footer(kRunFooter);
  add(run, "--history", "FILE", "Another history of runs than your own (see tracerd history)");
  add_flag(run, "--no-history", "Keep no history of this run, and compare it with none");
  CLI::App& watch = *app->add_subcommand("watch", kWatchDescription);
  add(watch, "--pid", "N", "This process and its descendants");
  add(watch, "--cgroup", "PATH", "A cgroup and everything below it, as in /proc/PID/cgroup or as a folder");
  add_flag(watch, "--host", "Every process; in a container, every process in it (without root: only your own)");
  add_tracing_options(watch);
  CLI::App& task = *app->add_subcommand("task", kTaskDescription);
  add(task, "--sample", "NAME", "The sample that the task works on: a patient, a library, a lane");
  add(task, "--step", "NAME", "The step, such as align: a name for all tasks of the same kind");
  add(task, "--name", "NAME", "The task's own name (default: made from step and sample)");
  task.footer(kTaskFooter);
  CLI::App& report = *app->add_subcommand("report", kReportDescription);
  add(report, "--by", "ROWS", "Rows: run, step, task, sample, tool, process or tree (default: what is worth a look)");
  add_flag(report, "--json", "All figures as one JSON object: docs/report.md describes it");
  add_flag(report, "--html", "Print one HTML page, which needs no network and no other file");
  add_flag(report, "--text", "Print text, the default");
  add_files(report, "FILE", kRecordingsOrLatest);
  CLI::App& runs = *app->add_subcommand("runs", kRunsDescription);
  add_flag(runs, "--json", "Print one JSON object: docs/service.md describes it");
  CLI::App& compare = *app->add_subcommand("compare", kCompareDescription);
  add_flag(compare, "--json", "Print one JSON object: docs/history.md describes it");
  add(compare, "--history", "FILE", "Another history than your own");
  add_files(compare, "FILE", "The two recordings, or run:KEY and run:KEY");
  CLI::App& history = *app->add_subcommand("history", kHistoryDescription);
  add_flag(history, "--json", "Print one JSON object: docs/history.md describes it");
  add(history, "--pipeline", "NAME", "Only kinds and runs of this pipeline");
  add(history, "--step", "NAME", "Only kinds of this step");
  add(history, "--input-bytes", "N", "Usual figures of tasks that read so many bytes");
  add(history, "--prune", "AGE", "Remove what ended longer ago than this, such as 90d, 12w or 1y");
  add_flag(history, "--delete", "Delete the history");
  add(history, "--history", "FILE", "Another history than your own");
  CLI::App& why = *app->add_subcommand("why", kWhyDescription);
  add_flag(why, "--json", "Print one JSON object: docs/findings.md describes it");
  add_files(why, "FILE",
            "The recording, its files or their folder (default: your latest run); at the end a task, run or pid "
            "(default: all "
            "findings)");
  CLI::App& log = *app->add_subcommand("log", kLogDescription);
  add_flag(log, "-f,--follow", "Go on as more happens, until Ctrl-C");
  add_flag(log, "--json", "Print events as JSON lines: docs/fields.md describes them");
  add_files(log, "FILE",
            "The recording, its files or their folder, or one of your runs (default: your latest run, see tracerd "
            "runs); at the end a task (default: all)");
  CLI::App& files = *app->add_subcommand("files", kFilesDescription);
  add_flag(files, "--json", "Tasks, files and edges as one JSON object: docs/lineage.md describes it");
  add_files(files, "FILE", kRecordingsOrLatest);
  CLI::App& lineage = *app->add_subcommand("lineage", kLineageDescription);
  add_flag(lineage, "--json", "Tasks, files and edges as one JSON object: docs/lineage.md describes it");
  add_flag(lineage, "--dot", "Print a graph for Graphviz");
  add_files(lineage, "FILE", kRecordingsOrLatest);
  CLI::App& dump = *app->add_subcommand("dump", kDumpDescription);
  add_flag(dump, "--explain", "Print each context once, with the rule, label or announcement that gives each field");
  add(dump, "--engine-rules", "FILE", "Your own rules for engines that were used for the recording");
  add_files(dump, "FILE", kRecordings);
  CLI::App& exports = *app->add_subcommand("export", kExportDescription);
  add(exports, "--trace", "FILE", "Write a table in Nextflow's format; '-': standard output");
  add(exports, "--benchmark", "FOLDER", "Write a file for each task in Snakemake's format");
  add_files(exports, "FILE", "The recording, its files or their folder");
  CLI::App& explain = *app->add_subcommand("explain", kExplainDescription);
  add_flag(explain, "-v,--verbose", "Print each rule's condition, too");
  add_rules_options(explain);
  add(explain, "PID", "", "The process");
  CLI::App& serve = *app->add_subcommand("serve", kServeDescription);
  add(serve, "--config", "FILE", "Another configuration than /etc/tracer/tracerd.toml");
  add_flag(serve, "--check", "Report the mistakes of the configuration with their lines, and do nothing else");
  add_flag(serve, "--foreground", "Stay in the foreground, as it always does");
  add(serve, "--socket", "PATH", "Listen on this socket alone");
  serve.footer(kServeFooter);
  CLI::App& status = *app->add_subcommand("status", kStatusDescription);
  add_flag(status, "--json", "Print one JSON object: docs/protocol.md describes it");
  add_flag(status, "--prometheus",
           "As root: what pipelines have used since the service began, as text for Prometheus: docs/service.md "
           "describes it");
  add(status, "--socket", "PATH", "The service's socket (default: TRACER_SOCKET, or /run/tracer/tracer.sock)");
  CLI::App& check = *app->add_subcommand("check", kCheckDescription);
  add_flag(check, "--json", "Print one JSON object");
  add(check, "--rules", "FILE", "Check a file of rules for engines");
  CLI::App& setup = *app->add_subcommand("setup", kSetupDescription);
  add_flag(setup, "--capabilities", "No service, even where systemd runs");
  add_flag(setup, "--dry-run", "Print what would be done, and change nothing");
  add_flag(setup, "--undo", "Remove what it has set up; configuration and recordings stay");
  // Last: a subcommand begins with the footer that there is.
  app->footer(kFooter);
  for (CLI::App* each : app->get_subcommands({})) each->group("Commands");
  return app;
}

}  // namespace tracerd
