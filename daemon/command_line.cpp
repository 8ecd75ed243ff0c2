// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracerd {
namespace {

using tracer::Error;
using tracer::ErrorCode;

[[noreturn]] void wrong(std::string what, const std::string& topic, ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error({code, 0, std::move(what), fmt::format("see: tracerd {}--help", topic.empty() ? "" : topic + " "), {}});
}

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
                        : name == "dump"    ? "[--explain] FILE"
                        : name == "export"  ? "[--trace FILE] [--benchmark FOLDER] FILE"
                        : name == "explain" ? "PID"
                        : name == "check"   ? "[--rules FILE]"
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
'tracerd COMMAND --help' explains each. Tracing needs root (sudo), or CAP_BPF and CAP_PERFMON, and Linux 5.10 or later
with BTF; 'tracerd check' reports what this machine has.
)";

constexpr const char* kRunDescription = R"(Trace a command and everything it starts.

The command runs unmodified, until it ends; then a table is printed on standard error. It keeps the terminal, its
signals and its exit status. Options after the first word of COMMAND belong to COMMAND.)";
constexpr const char* kRunFooter = R"(
The first Ctrl-C goes to the command. A second one detaches: the table so far is printed, and the command goes on.
Exit status: the command's, or 128+n if signal n ended it; 126: it can't be executed; 127: it does not exist; 125:
tracerd itself failed before the command ran; 2: the command line is wrong.
)";

constexpr const char* kWatchDescription = R"(Trace what is already running.

Traces until it is interrupted (Ctrl-C), or until the whole tree of --pid has ended; then prints a table. Processes that
were there before are reported with the totals of their whole life, and attached_ns.)";

constexpr const char* kDumpDescription = R"(Print a recording as JSON lines.

The first line is the host and its clock; each other line is an event, with `kind` first. Times are nanoseconds of the
boot clock: add the host's wall_offset_ns for Unix time. What is not known is null. Damage is reported on standard
error.)";

constexpr const char* kExportDescription = R"(Write figures of tasks, from a recording, in files that other tools read.

--trace writes a table like that of 'nextflow run -with-trace', --benchmark a file for each task like Snakemake's. The
values are those of all processes of a task: exact CPU time and bytes, and the most memory that they held at once. What is
not known is '-' or 'NA'.)";

constexpr const char* kExplainDescription = R"(Explain which run and task a living process belongs to.

Reads the process and its ancestors in /proc, and prints each field of its context with the rule that gives it and what
that rule asks for. What was labeled or announced in a session is not known here: see 'tracerd dump --explain'.)";

constexpr const char* kCheckDescription = R"(Report what this machine allows.

Lists what tracing needs and what you are permitted, each with its error code and how to fix it. Loads and changes
nothing. Exit status: 0: tracing works; 1: something required is missing.

With --rules a file of rules for engines is checked instead: all mistakes are reported with their lines, and its
examples are tried. Exit status: 0: it is right; 1: it is not.)";

CLI::Option* add(CLI::App& app, const std::string& name, const char* value, const char* description) {
  return app.add_option(name, CLI::callback_t{}, description)
      ->type_name(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_flag(CLI::App& app, const std::string& name, const std::string& description) {
  app.add_flag_function(
      name, [](std::int64_t) {}, description);
}

void add_rules_options(CLI::App& app) {
  add(app, "--engine-rules", "FILE", "Your own rules for engines, in front of the built-in ones");
  add_flag(app, "--no-engine-notes", "Don't read names in files that engines have written");
}

void add_tracing_options(CLI::App& app) {
  add(app, "--record", "FILE", "Write a recording (see tracerd dump)");
  add(app, "--json", "FILE", "Write events as JSON lines while they happen; '-': standard output");
  add(app, "--pipeline", "NAME", "Label what is traced with a pipeline");
  add(app, "--run", "NAME", "... with a run of it");
  add(app, "--step", "NAME", "... with a step");
  add(app, "--sample", "NAME", "... with a sample");
  add(app, "--families", "LIST", "Families besides the lifecycle: waits,snapshots (default: both) or none");
  add(app, "--interval", "MS", "Milliseconds between two snapshots, at least 100 (default: 1000)");
  add(app, "--max-cost", "PERCENT", "Disable the most expensive family above this share of one CPU (default: never)");
  add(app, "--ring", "MIB", "Room for events between kernel and tracerd, a power of two (default: at least 8)");
  add(app, "--max-processes", "N", "Processes that are followed at one time (default: by the machine)");
  add(app, "--max-threads", "N", "Threads whose waits are followed at one time (default: by the machine)");
  add(app, "--max-cgroups", "N", "Cgroups below those that are watched (default: by the machine)");
  add(app, "--by", "ROWS", "Rows of the table: run, step, task, tool or process (default: all levels of the runs)");
  add(app, "--trace", "FILE", "At the end, write the tasks in the form of Nextflow's trace (see tracerd export)");
  add_rules_options(app);
  add_flag(app, "--no-live", "Don't show what is running on the last line of the terminal");
}

std::unique_ptr<CLI::App> make_app() {
  auto app = std::make_unique<CLI::App>(kDescription, "tracerd");
  app->formatter(std::make_shared<HelpFormatter>());
  app->set_help_flag("-h,--help", "Print this help");
  app->set_version_flag("--version", "tracerd", "Print the version");
  app->require_subcommand(1);
  CLI::App& run = *app->add_subcommand("run", kRunDescription);
  add_tracing_options(run);
  add(run, "--user", "NAME|UID",
      "Run the command as this user (default: yourself, also under sudo); it can't type for you");
  run.footer(kRunFooter);
  CLI::App& watch = *app->add_subcommand("watch", kWatchDescription);
  add(watch, "--pid", "N", "This process and its descendants");
  add(watch, "--cgroup", "PATH", "A cgroup and everything below it, as in /proc/PID/cgroup or as a folder");
  add_flag(watch, "--host", "Every process (without root: only your own processes)");
  add_tracing_options(watch);
  CLI::App& dump = *app->add_subcommand("dump", kDumpDescription);
  add_flag(dump, "--explain", "Print each context once, with the rule, label or announcement that says each field");
  add(dump, "--engine-rules", "FILE", "Your own rules for engines, with which it was recorded");
  add(dump, "FILE", "", "The recording; - is standard input");
  CLI::App& exports = *app->add_subcommand("export", kExportDescription);
  add(exports, "--trace", "FILE", "A table in Nextflow's form; '-': standard output");
  add(exports, "--benchmark", "FOLDER", "A file for each task in Snakemake's form");
  add(exports, "FILE", "", "The recording");
  CLI::App& explain = *app->add_subcommand("explain", kExplainDescription);
  add_rules_options(explain);
  add(explain, "PID", "", "The process");
  CLI::App& check = *app->add_subcommand("check", kCheckDescription);
  add(check, "--rules", "FILE", "Check a file of rules for engines");
  // Last: a subcommand begins with the footer that there is.
  app->footer(kFooter);
  for (CLI::App* each : app->get_subcommands({})) each->group("Commands");
  return app;
}

/// How many of the words of `run` are its options: behind them the command begins, whose words are nobody's business.
/// An option that is not known ends them, too: it is refused later.
std::size_t count_option_words(const CLI::App& run, const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' && words[at] != "--") {
    const CLI::Option* option = run.get_option_no_throw(words[at]);
    const bool value_follows = option != nullptr && option->get_items_expected_max() != 0;
    at = std::min(words.size(), at + (value_follows ? 2 : 1));
  }
  return at;
}

void refuse_empty_values(const std::vector<std::string>& words, const std::string& topic) {
  for (const std::string& word : words)
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      wrong(fmt::format("{} needs a value", word.substr(0, word.size() - 1)), topic);
}

std::optional<std::string> value_of(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr || option->count() == 0) return std::nullopt;
  if (option->count() > 1) wrong(fmt::format("{} is given twice", name), app.get_name(), ErrorCode::kContradiction);
  if (option->results().front().empty()) wrong(fmt::format("{} needs a value", name), app.get_name());
  return option->results().front();
}

template <class Number>
std::optional<Number> number_of(std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
    return std::nullopt;
  return value;
}

std::optional<pid_t> pid_of(const CLI::App& app) {
  const std::string name = app.get_name() == "explain" ? "PID" : "--pid";
  const auto text = value_of(app, name);
  if (!text) return std::nullopt;
  const auto pid = number_of<pid_t>(*text, 1, std::numeric_limits<pid_t>::max());
  if (!pid) wrong(fmt::format("{} {}: not a process id", name, *text), app.get_name());
  return pid;
}

std::optional<std::chrono::milliseconds> interval_of(const CLI::App& app) {
  constexpr long kLeast = 100;
  constexpr long kMost = 24L * 3600 * 1000;
  const auto text = value_of(app, "--interval");
  if (!text) return std::nullopt;
  const auto value = number_of(*text, kLeast, kMost);
  if (!value)
    wrong(fmt::format("--interval {}: not a number of milliseconds from {} to {}", *text, kLeast, kMost),
          app.get_name());
  return std::chrono::milliseconds(*value);
}

std::optional<double> max_cost_of(const CLI::App& app) {
  const auto text = value_of(app, "--max-cost");
  if (!text) return std::nullopt;
  const auto percent = number_of(*text, 0.0, 100000.0);
  if (!percent || *percent == 0) wrong(fmt::format("--max-cost {}: not a percentage above 0", *text), app.get_name());
  return *percent / 100;
}

std::optional<std::size_t> ring_bytes_of(const CLI::App& app) {
  constexpr std::size_t kMostMib = 1024;
  const auto text = value_of(app, "--ring");
  if (!text) return std::nullopt;
  const auto mib = number_of<std::size_t>(*text, 1, kMostMib);
  if (!mib || !std::has_single_bit(*mib))
    wrong(fmt::format("--ring {}: not a power of two from 1 to {}", *text, kMostMib), app.get_name());
  return *mib << 20;
}

/// --max-processes and the like.
std::optional<std::size_t> most_of(const CLI::App& app, const char* option) {
  constexpr std::size_t kMost = 1u << 22;  // There are no more pids.
  const auto text = value_of(app, option);
  if (!text) return std::nullopt;
  const auto count = number_of<std::size_t>(*text, 1, kMost);
  if (!count) wrong(fmt::format("{} {}: not a number from 1 to {}", option, *text, kMost), app.get_name());
  return count;
}

std::optional<std::vector<tracer::Family>> families_of(const CLI::App& app) {
  const auto text = value_of(app, "--families");
  if (!text) return std::nullopt;
  std::vector<tracer::Family> families;
  if (*text == "none") return families;
  for (const std::string& name : CLI::detail::split(*text, ',')) {
    if (name == to_string(tracer::Family::kWaits)) {
      families.push_back(tracer::Family::kWaits);
    } else if (name == to_string(tracer::Family::kSnapshots)) {
      families.push_back(tracer::Family::kSnapshots);
    } else {
      wrong(fmt::format("--families: there is no family '{}'; there are waits, snapshots, or none", name),
            app.get_name());
    }
  }
  return families;
}

std::optional<By> by_of(const CLI::App& app) {
  const auto text = value_of(app, "--by");
  if (!text) return std::nullopt;
  constexpr std::pair<std::string_view, By> kNames[] = {
      {"run", By::kRun}, {"step", By::kStep}, {"task", By::kTask}, {"tool", By::kTool}, {"process", By::kProcess}};
  for (const auto& [name, by] : kNames)
    if (*text == name) return by;
  wrong(fmt::format("--by {}: not one of run, step, task, tool, process", *text), app.get_name());
}

bool has_flag(const CLI::App& app, const char* name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->count() != 0;
}

void check_watch(const Options& options) {
  const int given = (options.pid ? 1 : 0) + (options.cgroup ? 1 : 0) + (options.host ? 1 : 0);
  if (given == 0) wrong("what to watch is missing: --pid N, --cgroup PATH or --host", "watch");
  if (given > 1) wrong("--pid, --cgroup and --host exclude each other", "watch", ErrorCode::kContradiction);
  if (options.host && options.context != tracer::Context{})
    wrong("labels need --pid or --cgroup: a whole host has none", "watch", ErrorCode::kContradiction);
}

Options options_of(const CLI::App& app, Options::Command command) {
  Options options;
  options.command = command;
  options.record = value_of(app, "--record");
  options.json = value_of(app, "--json");
  options.user = value_of(app, "--user");
  options.context = {.pipeline = value_of(app, "--pipeline"),
                     .run = value_of(app, "--run"),
                     .step = value_of(app, "--step"),
                     .sample = value_of(app, "--sample")};
  options.interval = interval_of(app);
  options.families = families_of(app);
  options.max_cost_share = max_cost_of(app);
  options.ring_bytes = ring_bytes_of(app);
  options.max_processes = most_of(app, "--max-processes");
  options.max_threads = most_of(app, "--max-threads");
  options.max_cgroups = most_of(app, "--max-cgroups");
  options.by = by_of(app);
  options.live = !has_flag(app, "--no-live");
  options.pid = pid_of(app);
  options.cgroup = value_of(app, "--cgroup");
  options.host = has_flag(app, "--host");
  options.engine_rules = value_of(app, "--engine-rules");
  options.read_engine_notes = !has_flag(app, "--no-engine-notes");
  options.explain = has_flag(app, "--explain");
  options.rules = value_of(app, "--rules");
  options.trace = value_of(app, "--trace");
  options.benchmark = value_of(app, "--benchmark");
  if (options.record && options.json && *options.record == *options.json)
    wrong("--record and --json name the same file", app.get_name(), ErrorCode::kContradiction);
  return options;
}

Options::Command command_of(const std::string& name) {
  if (name == "run") return Options::Command::kRun;
  if (name == "watch") return Options::Command::kWatch;
  if (name == "dump") return Options::Command::kDump;
  if (name == "export") return Options::Command::kExport;
  if (name == "explain") return Options::Command::kExplain;
  return Options::Command::kCheck;
}

/// What CLI11 found wrong, in words of ours.
[[noreturn]] void refuse(const CLI::ParseError& error, const CLI::App* sub) {
  const std::string topic = sub == nullptr ? "" : sub->get_name();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string_view what = error.what();
    wrong(fmt::format("{} needs a value", what.substr(0, what.find(':'))), topic);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && sub != nullptr) {
    const std::vector<std::string> extras = sub->remaining();
    const std::string word = extras.empty() ? "" : extras.front();
    wrong(word.starts_with('-') ? fmt::format("unknown option {}", word) : fmt::format("unexpected word '{}'", word),
          topic);
  }
  wrong(sub == nullptr ? "a command is missing: run, watch, dump, export, explain or check" : error.what(), topic);
}

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  const auto all = app.get_subcommands({});
  const auto found = std::find_if(all.begin(), all.end(), [&](const CLI::App* sub) { return sub->get_name() == name; });
  return found == all.end() ? nullptr : *found;
}

Options parse(CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) wrong("a command is missing: run, watch, dump, export, explain or check", "");
  if (words.front() == "help") words.front() = "--help";
  const CLI::App* sub = find_subcommand(app, words.front());
  if (sub == nullptr && app.get_option_no_throw(words.front()) == nullptr)
    wrong(fmt::format("there is no {} '{}'", words.front().starts_with('-') ? "option" : "command", words.front()), "");
  std::vector<std::string> command_words;
  if (sub != nullptr && sub->get_name() == "run") {
    const std::vector<std::string> behind(words.begin() + 1, words.end());
    const std::size_t options = count_option_words(*sub, behind);
    command_words.assign(behind.begin() + static_cast<std::ptrdiff_t>(options), behind.end());
    words.resize(1 + options);
    if (!command_words.empty() && command_words.front() == "--") command_words.erase(command_words.begin());
  }
  refuse_empty_values(words, sub == nullptr ? "" : sub->get_name());
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    Options options;
    options.command = Options::Command::kHelp;
    options.help = (sub == nullptr ? &app : sub)->help();
    return options;
  } catch (const CLI::CallForVersion&) {
    Options options;
    options.command = Options::Command::kVersion;
    return options;
  } catch (const CLI::ParseError& error) {
    refuse(error, sub);
  }
  Options options = options_of(*sub, command_of(sub->get_name()));
  options.words = std::move(command_words);
  if (options.command == Options::Command::kRun && options.words.empty()) wrong("the command to run is missing", "run");
  if (options.command == Options::Command::kWatch) check_watch(options);
  if (options.command == Options::Command::kExplain && !options.pid) wrong("name a process", "explain");
  if (options.command == Options::Command::kExport && !options.trace && !options.benchmark)
    wrong("what to write is missing: --trace FILE or --benchmark FOLDER", "export");
  if (options.command == Options::Command::kDump || options.command == Options::Command::kExport) {
    const auto file = value_of(*sub, "FILE");
    if (!file) wrong("name one recording", sub->get_name());
    options.file = *file;
  }
  return options;
}

}  // namespace

Options parse_command_line(int argc, char** argv) {
  const auto app = make_app();
  return parse(*app, std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace tracerd
