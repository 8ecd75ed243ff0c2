// SPDX-License-Identifier: Apache-2.0
#include "command_line/command_line.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/sink.hpp>

#include "base/number.hpp"
#include "command_line/command_help.hpp"
#include "command_line/nearest_name.hpp"

namespace tracerd {
namespace {

using tracer::Error;
using tracer::ErrorCode;

[[noreturn]] void wrong(std::string what, const std::string& topic, ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error({code, 0, std::move(what), fmt::format("see: tracerd {}--help", topic.empty() ? "" : topic + " "), {}});
}

/// How many of the words of `run` are its options: behind them the command begins, whose words are passed on unread.
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

/// A value that looks like an option is a value that was forgotten: a file called "--" helps nobody.
void refuse_swallowed_options(const CLI::App& app, const std::vector<std::string>& words) {
  for (std::size_t at = 0; at + 1 < words.size(); ++at) {
    const CLI::Option* option =
        words[at].size() > 1 && words[at].front() == '-' ? app.get_option_no_throw(words[at]) : nullptr;
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    const std::string& value = words[++at];
    if (value.size() > 1 && value.front() == '-')
      wrong(fmt::format("{} needs a value, not {}; write {}={} if that is the value", words[at - 1], value,
                        words[at - 1], value),
            app.get_name());
  }
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
  const auto value = tracer::internal::parse_number<Number>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
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

std::uint64_t max_size_of(const CLI::App& app) {
  constexpr std::pair<std::string_view, unsigned> kUnits[] = {{"", 0}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}};
  constexpr std::uint64_t kMost = 1ull << 60;
  const auto text = value_of(app, "--max-size");
  if (!text) return 0;
  const std::size_t digits = std::min(text->find_first_not_of("0123456789"), text->size());
  std::string_view unit = std::string_view(*text).substr(digits);
  if (unit.size() == 3 && unit.ends_with("iB")) unit.remove_suffix(2);
  for (const auto& [name, shift] : kUnits) {
    if (unit != name) continue;
    const auto number = number_of<std::uint64_t>(std::string_view(*text).substr(0, digits), 1, kMost >> shift);
    if (number && *number << shift >= tracer::OutputLimit::kLeastBytes) return *number << shift;
  }
  wrong(fmt::format("--max-size {}: not a size of at least 1MiB, such as 500MiB or 2GiB", *text), app.get_name());
}

std::uint32_t rotate_of(const CLI::App& app) {
  constexpr std::uint32_t kMost = 9999;
  const auto text = value_of(app, "--rotate");
  if (!text) return 0;
  const auto files = number_of<std::uint32_t>(*text, 1, kMost);
  if (!files) wrong(fmt::format("--rotate {}: not a number from 1 to {}", *text, kMost), app.get_name());
  return *files;
}

void check_sizes(const Options& options, const std::string& topic) {
  if (options.max_size != 0 && !options.record && !options.json)
    wrong("--max-size is for the files of --record and --json: neither is given", topic, ErrorCode::kContradiction);
  if (options.rotate == 0) return;
  if (options.max_size == 0)
    wrong("--rotate needs --max-size: when to begin the next file", topic, ErrorCode::kContradiction);
  if (options.json == "-")
    wrong("--rotate is for files: standard output can't be renamed", topic, ErrorCode::kContradiction);
}

std::optional<std::vector<tracer::Family>> families_of(const CLI::App& app) {
  const auto text = value_of(app, "--families");
  if (!text) return std::nullopt;
  std::vector<tracer::Family> families;
  if (*text == "none") return families;
  for (const std::string& name : CLI::detail::split(*text, ',')) {
    const auto family = tracer::family_from_name(name);
    if (!family || info_of(*family).use == tracer::FamilyUse::kAlways)
      wrong(
          fmt::format("--families: there is no family '{}'; there are {}, or none", name, tracer::names_of_families()),
          app.get_name());
    families.push_back(*family);
  }
  return families;
}

std::optional<By> by_of(const CLI::App& app) {
  const auto text = value_of(app, "--by");
  if (!text) return std::nullopt;
  if (const auto by = tracer::internal::by_named(*text)) return by;
  wrong(fmt::format("--by {}: not one of {}", *text, tracer::internal::names_of_by()), app.get_name());
}

std::optional<std::string> report_of(const CLI::App& app) {
  const auto file = value_of(app, "--report");
  if (file && !file->ends_with(".json") && !file->ends_with(".html"))
    wrong(fmt::format("--report {}: its name must end with .json or .html", *file), app.get_name());
  return file;
}

std::optional<std::chrono::seconds> prune_of(const CLI::App& app) {
  constexpr std::pair<char, long> kUnits[] = {{'h', 3600}, {'d', 86400}, {'w', 7 * 86400L}, {'y', 365 * 86400L}};
  constexpr long kMost = 100000;
  const auto text = value_of(app, "--prune");
  if (!text) return std::nullopt;
  for (const auto& [unit, seconds] : kUnits) {
    if (text->back() != unit) continue;
    if (const auto number = number_of<long>(std::string_view(*text).substr(0, text->size() - 1), 0, kMost))
      return std::chrono::seconds(*number * seconds);
  }
  wrong(fmt::format("--prune {}: not an age, such as 90d, 12w, 1y or 0d", *text), app.get_name());
}

std::optional<std::uint64_t> input_bytes_of(const CLI::App& app) {
  const auto text = value_of(app, "--input-bytes");
  if (!text) return std::nullopt;
  if (const auto bytes = number_of<std::uint64_t>(*text, 0, 1ull << 60)) return bytes;
  wrong(fmt::format("--input-bytes {}: not a number of bytes", *text), app.get_name());
}

bool has_flag(const CLI::App& app, const char* name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->count() != 0;
}

void check_watch(const Options& options) {
  const int given = (options.pid ? 1 : 0) + (options.cgroup ? 1 : 0) + (options.host ? 1 : 0);
  if (given == 0) wrong("the target is missing: --pid N, --cgroup PATH or --host", "watch");
  if (given > 1) wrong("--pid, --cgroup and --host exclude each other", "watch", ErrorCode::kContradiction);
  if (options.host && options.context != tracer::Context{})
    wrong("labels need --pid or --cgroup: a whole host has none", "watch", ErrorCode::kContradiction);
}

Options options_of(const CLI::App& app, Options::Command command) {
  Options options;
  options.command = command;
  options.record = value_of(app, "--record");
  const CLI::Option* const json = app.get_option_no_throw("--json");
  const bool json_is_flag = json != nullptr && json->get_type_name().empty();
  if (!json_is_flag) options.json = value_of(app, "--json");
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
  options.max_size = max_size_of(app);
  options.rotate = rotate_of(app);
  options.by = by_of(app);
  options.live = !has_flag(app, "--no-live");
  options.pid = pid_of(app);
  options.cgroup = value_of(app, "--cgroup");
  options.host = has_flag(app, "--host");
  options.engine_rules = value_of(app, "--engine-rules");
  options.secret_rules = value_of(app, "--secret-rules");
  options.read_engine_notes = !has_flag(app, "--no-engine-notes");
  options.hash_paths = has_flag(app, "--hash-paths");
  options.explain = has_flag(app, "--explain");
  options.verbose = has_flag(app, "--verbose");
  options.rules = value_of(app, "--rules");
  options.as_json = json_is_flag && has_flag(app, "--json");
  options.task = value_of(app, "--name");
  options.trace = value_of(app, "--trace");
  options.benchmark = value_of(app, "--benchmark");
  options.report = report_of(app);
  options.as_page = has_flag(app, "--html");
  options.as_dot = has_flag(app, "--dot");
  options.follow = has_flag(app, "--follow");
  options.history = value_of(app, "--history");
  options.use_history = !has_flag(app, "--no-history");
  if (options.history && !options.use_history)
    wrong("--history and --no-history exclude each other", app.get_name(), ErrorCode::kContradiction);
  options.config = value_of(app, "--config");
  options.socket = value_of(app, "--socket");
  options.check_only = has_flag(app, "--check");
  options.capabilities = has_flag(app, "--capabilities");
  options.dry_run = has_flag(app, "--dry-run");
  options.undo = has_flag(app, "--undo");
  options.prune = prune_of(app);
  options.delete_history = has_flag(app, "--delete");
  if (options.prune && options.delete_history)
    wrong("--prune and --delete exclude each other", app.get_name(), ErrorCode::kContradiction);
  options.input_bytes = input_bytes_of(app);
  options.as_prometheus = has_flag(app, "--prometheus");
  if (options.as_json && options.as_prometheus)
    wrong("--json and --prometheus exclude each other", app.get_name(), ErrorCode::kContradiction);
  if (options.as_json && options.as_dot)
    wrong("--json and --dot exclude each other", app.get_name(), ErrorCode::kContradiction);
  if ((options.as_json || options.as_page) && options.by)
    wrong("--by is for the table: JSON and page have all rows", app.get_name(), ErrorCode::kContradiction);
  if (options.as_json && options.as_page)
    wrong("--json and --html exclude each other", app.get_name(), ErrorCode::kContradiction);
  for (const auto& other : {options.record, options.json, options.trace})
    if (options.report && options.report == other)
      wrong("--report names the file of another option", app.get_name(), ErrorCode::kContradiction);
  if (options.record && options.json && *options.record == *options.json)
    wrong("--record and --json name the same file", app.get_name(), ErrorCode::kContradiction);
  check_sizes(options, app.get_name());
  return options;
}

bool reads_recordings(Options::Command command) {
  using Command = Options::Command;
  return command == Command::kReport || command == Command::kWhy || command == Command::kLog ||
         command == Command::kFiles || command == Command::kLineage || command == Command::kDump ||
         command == Command::kExport;
}

Options::Command command_of(const std::string& name) {
  if (name == "run") return Options::Command::kRun;
  if (name == "watch") return Options::Command::kWatch;
  if (name == "dump") return Options::Command::kDump;
  if (name == "export") return Options::Command::kExport;
  if (name == "report") return Options::Command::kReport;
  if (name == "why") return Options::Command::kWhy;
  if (name == "log") return Options::Command::kLog;
  if (name == "files") return Options::Command::kFiles;
  if (name == "lineage") return Options::Command::kLineage;
  if (name == "runs") return Options::Command::kRuns;
  if (name == "task") return Options::Command::kTask;
  if (name == "history") return Options::Command::kHistory;
  if (name == "compare") return Options::Command::kCompare;
  if (name == "serve") return Options::Command::kServe;
  if (name == "status") return Options::Command::kStatus;
  if (name == "explain") return Options::Command::kExplain;
  if (name == "setup") return Options::Command::kSetup;
  return Options::Command::kCheck;
}

constexpr const char* kNoCommand =
    "a command is missing: run, watch, task, runs, report, why, log, compare, history, files, lineage, dump, export, "
    "explain, serve, status, check or setup";

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& sub) {
  std::vector<std::string> names;
  for (const CLI::Option* option : sub.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
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
    if (topic == "report" && (word.starts_with("-o") || word.starts_with("--output")))
      wrong(fmt::format(
                "unknown option {}: tracerd report writes to standard output: tracerd report --html FILE > PAGE", word),
            topic);
    wrong(word.starts_with('-') ? fmt::format("unknown option {}{}", word, did_you_mean(word, options_of(*sub)))
                                : fmt::format("unexpected word '{}'", word),
          topic);
  }
  wrong(sub == nullptr ? kNoCommand : error.what(), topic);
}

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  const auto all = app.get_subcommands({});
  const auto found = std::find_if(all.begin(), all.end(), [&](const CLI::App* sub) { return sub->get_name() == name; });
  return found == all.end() ? nullptr : *found;
}

Options parse(CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) wrong(kNoCommand, "");
  if (words.front() == "help") words.front() = "--help";
  const CLI::App* sub = find_subcommand(app, words.front());
  if (sub == nullptr && app.get_option_no_throw(words.front()) == nullptr)
    wrong(words.front().starts_with('-')
              ? fmt::format("there is no option '{}'", words.front())
              : fmt::format("there is no command '{}'{}", words.front(), did_you_mean(words.front(), commands_of(app))),
          "");
  std::vector<std::string> command_words;
  const std::vector<std::string> given = words;
  const bool runs = sub != nullptr && (sub->get_name() == "run" || sub->get_name() == "task");
  if (runs) {
    const std::vector<std::string> behind(words.begin() + 1, words.end());
    const std::size_t options = count_option_words(*sub, behind);
    command_words.assign(behind.begin() + static_cast<std::ptrdiff_t>(options), behind.end());
    words.resize(1 + options);
    if (!command_words.empty() && command_words.front() == "--") command_words.erase(command_words.begin());
  }
  refuse_empty_values(words, sub == nullptr ? "" : sub->get_name());
  if (sub != nullptr) refuse_swallowed_options(*sub, words);
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
  if (options.command == Options::Command::kTask) options.given = given;
  if (runs && options.words.empty()) wrong("the command to run is missing", sub->get_name());
  if (options.command == Options::Command::kTask && !options.task && !options.context.step && !options.context.sample)
    wrong("the name of the task is missing: --sample, --step or --name", "task");
  if (options.command == Options::Command::kWatch) check_watch(options);
  if (options.command == Options::Command::kExplain && !options.pid) wrong("name a process", "explain");
  if (options.command == Options::Command::kExport && !options.trace && !options.benchmark)
    wrong("the output is missing: --trace FILE or --benchmark FOLDER", "export");
  if (reads_recordings(options.command)) {
    options.files = sub->get_option("FILE")->results();
    const bool has_latest = options.command != Options::Command::kDump && options.command != Options::Command::kExport;
    if (options.files.empty() && !has_latest) wrong("name a recording", sub->get_name());
  }
  if (options.command == Options::Command::kCompare) {
    options.files = sub->get_option("FILE")->results();
    if (options.files.size() != 2 ||
        options.files[0].starts_with(kRunPrefix) != options.files[1].starts_with(kRunPrefix))
      wrong("name two recordings, or two runs of the history", "compare");
  }
  return options;
}

}  // namespace

Options parse_command_line(int argc, char** argv) {
  const auto app = make_app();
  return parse(*app, std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace tracerd
