// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <getopt.h>

#include <charconv>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracerd {
namespace {

using tracer::Error;
using tracer::ErrorCode;

constexpr const char* kGeneralHelp =
    R"(tracerd: which programs ran in a pipeline, and what each consumed, as the Linux kernel saw it.

usage: tracerd run   [options] [--] COMMAND [ARGUMENT ...]   trace a command and all that it starts
       tracerd watch --pid N | --cgroup PATH | --host        trace what runs already, until interrupted
       tracerd dump  FILE                                    print a recording as JSON lines
       tracerd check                                         say what this machine allows, and what is missing
       tracerd --version | --help | COMMAND --help

Tracing needs root (sudo), or CAP_BPF and CAP_PERFMON, and Linux 5.10 or later with BTF.
)";

constexpr const char* kRunHelp = R"(usage: tracerd run [options] [--] COMMAND [ARGUMENT ...]

Runs COMMAND, traces its whole tree until it ends, and prints a table on standard error. The command is not changed: it has
the terminal, its signals, and its own exit status, which is tracerd's too (128+n for signal n).

  --record FILE      write a recording (see tracerd dump)
  --json FILE        write JSON lines as they happen; '-' is standard output
  --user NAME|UID    run the command as this user (default: yourself, also under sudo)
  --pipeline, --run, --step, --sample NAME
                     label all that the command starts; the table then has rows by step
  --families LIST    signals besides the lifecycle: waits,snapshots (default: both) or none
  --interval MS      between two snapshots, at least 100 (default: 1000)
  --max-cost PERCENT of one CPU; when tracing costs more for 3 s, the dearest family is given up (default: never)
  --no-live          no line on the terminal that tells what is running

A first Ctrl-C goes to the command; a second one detaches: the table of what is known is printed, the command goes on.
Exit status: the command's; 126 it can't be executed; 127 it does not exist; 125 tracerd itself failed before it ran.
)";

constexpr const char* kWatchHelp =
    R"(usage: tracerd watch --pid N | --cgroup PATH | --host [--record FILE] [--json FILE]

Traces from now on, until interrupted (Ctrl-C) or the tree of --pid has ended. Processes that lived before carry the totals of
their whole life and attached_ns.

  --pid N            this process and its descendants
  --cgroup PATH      a cgroup and all below it, as in /proc/PID/cgroup or as a folder
  --host             every process (without root: every process of your own)
  --record FILE      write a recording
  --json FILE        write JSON lines as they happen; '-' is standard output
  --pipeline, --run, --step, --sample NAME
                     label what --pid or --cgroup takes in
  --families LIST    signals besides the lifecycle: waits,snapshots (default: both) or none
  --interval MS      between two snapshots, at least 100 (default: 1000)
  --max-cost PERCENT of one CPU; when tracing costs more for 3 s, the dearest family is given up (default: never)
  --no-live          no line on the terminal that tells what is running
)";

constexpr const char* kDumpHelp = R"(usage: tracerd dump FILE

Prints a recording as JSON lines: first the host and its clock, then every event, with `kind` first. Times are nanoseconds of
the boot clock; add the host's wall_offset_ns for Unix time. What is not known is null. Damage is told on standard error.
)";

constexpr const char* kCheckHelp = R"(usage: tracerd check

Says what this machine and your privileges allow, what is missing, with its code, and how to mend it. Loads and changes
nothing. Exit status: 0 tracing works, 1 something that is needed is missing.
)";

constexpr int kUsage = 1000;
enum Option {
  kRecord = kUsage,
  kJson,
  kUser,
  kPipeline,
  kRunLabel,
  kStep,
  kSample,
  kPid,
  kCgroup,
  kHost,
  kHelpOption,
  kFamilies,
  kInterval,
  kMaxCost,
  kNoLive
};

[[noreturn]] void wrong(std::string what, const std::string& topic, ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error({code, 0, std::move(what), fmt::format("see: tracerd {}--help", topic.empty() ? "" : topic + " "), {}});
}

template <class T>
void refuse_twice(const std::optional<T>& target, const char* name, const std::string& topic) {
  if (target) wrong(fmt::format("--{} is given twice", name), topic, ErrorCode::kContradiction);
}

void set_once(std::optional<std::string>& target, const char* name, const std::string& topic) {
  refuse_twice(target, name, topic);
  if (*::optarg == '\0') wrong(fmt::format("--{} needs a value", name), topic);
  target = ::optarg;
}

pid_t parse_pid(const std::string& topic) {
  const std::string_view text = ::optarg;
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid <= 0)
    wrong(fmt::format("--pid {}: not a process number", text), topic);
  return pid;
}

std::chrono::milliseconds parse_interval(const std::string& topic) {
  constexpr long kLeast = 100;
  constexpr long kMost = 24L * 3600 * 1000;
  const std::string_view text = ::optarg;
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < kLeast || value > kMost)
    wrong(fmt::format("--interval {}: not a number of milliseconds from {} on", text, kLeast), topic);
  return std::chrono::milliseconds(value);
}

double parse_percent(const std::string& topic) {
  const std::string_view text = ::optarg;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 100000))
    wrong(fmt::format("--max-cost {}: not a number of percent above 0", text), topic);
  return value / 100;
}

std::vector<tracer::Family> parse_families(const std::string& topic) {
  std::vector<tracer::Family> families;
  std::string_view rest = ::optarg;
  if (rest == "none") return families;
  if (rest.empty()) wrong("--families needs a value", topic);
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name == to_string(tracer::Family::kWaits)) {
      families.push_back(tracer::Family::kWaits);
    } else if (name == to_string(tracer::Family::kSnapshots)) {
      families.push_back(tracer::Family::kSnapshots);
    } else {
      wrong(fmt::format("--families: there is no family '{}'; there are waits, snapshots, or none", name), topic);
    }
  }
  return families;
}

std::vector<option> long_options(Options::Command command) {
  std::vector<option> options = {{"help", no_argument, nullptr, kHelpOption}};
  const auto add = [&options](const char* name, int has_argument, int value) {
    options.push_back({name, has_argument, nullptr, value});
  };
  if (command == Options::Command::kRun || command == Options::Command::kWatch) {
    add("record", required_argument, kRecord);
    add("json", required_argument, kJson);
    add("pipeline", required_argument, kPipeline);
    add("run", required_argument, kRunLabel);
    add("step", required_argument, kStep);
    add("sample", required_argument, kSample);
    add("families", required_argument, kFamilies);
    add("interval", required_argument, kInterval);
    add("max-cost", required_argument, kMaxCost);
    add("no-live", no_argument, kNoLive);
  }
  if (command == Options::Command::kRun) add("user", required_argument, kUser);
  if (command == Options::Command::kWatch) {
    add("pid", required_argument, kPid);
    add("cgroup", required_argument, kCgroup);
    add("host", no_argument, kHost);
  }
  options.push_back({nullptr, 0, nullptr, 0});
  return options;
}

void check_watch(const Options& options, const std::string& topic) {
  const int given = (options.pid ? 1 : 0) + (options.cgroup ? 1 : 0) + (options.host ? 1 : 0);
  if (given == 0) wrong("what to watch is missing: --pid N, --cgroup PATH or --host", topic);
  if (given > 1) wrong("--pid, --cgroup and --host exclude each other", topic, ErrorCode::kContradiction);
  if (options.host && options.context != tracer::Context{})
    wrong("labels need --pid or --cgroup: they can't be those of a whole host", topic, ErrorCode::kContradiction);
}

}  // namespace

Options parse_command_line(int argc, char** argv) {
  static const std::map<std::string_view, Options::Command> kCommands = {
      {"run", Options::Command::kRun},           {"watch", Options::Command::kWatch},
      {"dump", Options::Command::kDump},         {"check", Options::Command::kCheck},
      {"--version", Options::Command::kVersion}, {"--help", Options::Command::kHelp},
      {"-h", Options::Command::kHelp},           {"help", Options::Command::kHelp}};
  Options options;
  if (argc < 2) wrong("a command is missing: run, watch, dump or check", "");
  const auto command = kCommands.find(argv[1]);
  if (command == kCommands.end()) wrong(fmt::format("there is no command '{}'", argv[1]), "");
  options.command = command->second;
  if (options.command == Options::Command::kHelp || options.command == Options::Command::kVersion) return options;
  const std::string topic = argv[1];

  const std::vector<option> known = long_options(options.command);
  ::opterr = 0;
  ::optind = 2;
  for (;;) {
    const int current = ::optind;
    const int got = ::getopt_long(argc, argv, "+:h", known.data(), nullptr);
    if (got < 0) break;
    switch (got) {
      case 'h':
      case kHelpOption:
        options.command = Options::Command::kHelp;
        options.help_topic = topic;
        return options;
      case kRecord: set_once(options.record, "record", topic); break;
      case kJson: set_once(options.json, "json", topic); break;
      case kUser: set_once(options.user, "user", topic); break;
      case kPipeline: set_once(options.context.pipeline, "pipeline", topic); break;
      case kRunLabel: set_once(options.context.run, "run", topic); break;
      case kStep: set_once(options.context.step, "step", topic); break;
      case kSample: set_once(options.context.sample, "sample", topic); break;
      case kPid:
        refuse_twice(options.pid, "pid", topic);
        options.pid = parse_pid(topic);
        break;
      case kCgroup: set_once(options.cgroup, "cgroup", topic); break;
      case kHost: options.host = true; break;
      case kFamilies:
        refuse_twice(options.families, "families", topic);
        options.families = parse_families(topic);
        break;
      case kInterval:
        refuse_twice(options.interval, "interval", topic);
        options.interval = parse_interval(topic);
        break;
      case kMaxCost:
        refuse_twice(options.max_cost_share, "max-cost", topic);
        options.max_cost_share = parse_percent(topic);
        break;
      case kNoLive: options.live = false; break;
      case ':': wrong(fmt::format("{} needs a value", argv[current]), topic);
      default: wrong(fmt::format("unknown option {}", argv[current]), topic);
    }
  }
  options.words.assign(argv + ::optind, argv + argc);
  if (options.record && options.json && *options.record == *options.json)
    wrong("--record and --json name the same file", topic, ErrorCode::kContradiction);
  if (options.command == Options::Command::kRun) {
    if (options.words.empty()) wrong("the command to run is missing", topic);
    return options;
  }
  if (options.command == Options::Command::kDump) {
    if (options.words.size() != 1) wrong("name one recording", topic);
    options.file = options.words.front();
    return options;
  }
  if (!options.words.empty()) wrong(fmt::format("'{}' means nothing here", options.words.front()), topic);
  if (options.command == Options::Command::kWatch) check_watch(options, topic);
  return options;
}

std::string help_text(const std::string& topic) {
  if (topic == "run") return kRunHelp;
  if (topic == "watch") return kWatchHelp;
  if (topic == "dump") return kDumpHelp;
  if (topic == "check") return kCheckHelp;
  return kGeneralHelp;
}

}  // namespace tracerd
