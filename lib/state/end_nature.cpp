// SPDX-License-Identifier: Apache-2.0
#include "state/end_nature.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/end_words.hpp"
#include "base/shell_text.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// A program that can't write any more ends so soon.
constexpr std::uint64_t kBrokenPipeNs = 1'000'000'000;
constexpr std::uint64_t kBriefCpuNs = 200'000'000;
constexpr std::uint64_t kBriefChildNs = 2'000'000'000;
constexpr std::uint64_t kBriefBytes = 65'536;
/// A usage is longer than most messages of errors, and needs no data.
constexpr std::uint64_t kUsageBytes = 400;
constexpr std::uint64_t kMostReadBytes = 65'536;
/// Who can't execute sends the number of the error to its parent; Python with its name.
constexpr std::uint64_t kLeastErrorBytes = 4;
constexpr std::uint64_t kMostErrorBytes = 12;
constexpr std::uint64_t kMostErrorNameBytes = 40;
/// The loader ends sooner.
constexpr std::uint64_t kLoaderCpuNs = 5'000'000;
constexpr std::int32_t kTimedOut = 124;  ///< What timeout(1) ends with when it has ended its child.
constexpr std::int32_t kCommonStatus = 1;
constexpr std::int32_t kNotFound = 127;
constexpr std::int32_t kShellSaysNo = 1;  ///< Of test, command -v and read, which are no processes.

constexpr std::array<std::string_view, 12> kShells = {"bash", "rbash", "sh",   "dash", "ash",  "zsh",
                                                      "ksh",  "ksh93", "mksh", "fish", "tcsh", "busybox"};
/// What runs a command, and ends with its status, or with 127 where there is none.
constexpr std::array<std::string_view, 30> kWrappers = {
    "env",     "nice",   "timeout", "sudo",    "time",    "setsid",    "flock",  "nsenter",   "unshare", "strace",
    "ltrace",  "su",     "runuser", "doas",    "tini",    "catatonit", "xargs",  "dumb-init", "nohup",   "stdbuf",
    "taskset", "ionice", "chrt",    "setpriv", "prlimit", "setarch",   "chroot", "docker",    "podman",  "conda"};
constexpr std::array<std::string_view, 12> kEnders = {"kill",  "pkill",  "killall",    "pgrep",  "ps",   "rm",
                                                      "rmdir", "umount", "fusermount", "logger", "mail", "mailx"};
constexpr std::array<std::string_view, 27> kReporters = {
    "date", "sleep", "echo", "printf",   "mkdir",     "cp",       "mv",      "touch",    "cat",
    "tee",  "tail",  "head", "hostname", "uname",     "id",       "whoami",  "df",       "du",
    "free", "ls",    "sync", "uptime",   "systemctl", "basename", "dirname", "readlink", "env"};
/// Asks what it is, wherever it stands.
constexpr std::array<std::string_view, 5> kAsking = {"--version", "--help", "-version", "-help", "--usage"};
/// Asks if it stands last, and little was done: some mean something else by it.
constexpr std::array<std::string_view, 6> kMayAsk = {"-v", "-V", "-h", "-?", "version", "help"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view program_name(const Program& program) {
  if (program.exe) return base_name(*program.exe);
  return program.comm ? std::string_view(*program.comm) : std::string_view();
}
std::string_view program_name(const Process& process) { return program_name(*process.program); }

/// A shell whose program text is in its arguments.
bool runs_text(const Process& process) {
  return process.program->argv && is_shell(process) && shell_text_in(*process.program->argv) != 0;
}

/// Is its status one of its own for a child that ended like this one?
bool sums_up(const ProcessExit& parent, const ChildEnd& child) {
  if (!parent.exit_code || *parent.exit_code == 0) return false;
  const std::int32_t status = *parent.exit_code;
  const std::string_view name = program_name(*parent.process);
  if (name == "make" || name == "gmake") return status == 2;
  if (name == "ninja") return status == 1;
  if (!runs_all(*parent.process)) return false;
  // GNU parallel: how many have failed; 101: more than 100.
  if (name != "xargs") return status <= 101;
  if (child.exit_signal) return status == 125;
  return child.exit_code == 255 ? status == 124 : status == 123;
}

bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; });
}

/// It was only asked for its version, or how it is used.
bool was_asked(const ProcessExit& exit) {
  const Program& program = *exit.process->program;
  if (is_copy(exit) || !program.argv || program.argv->empty() || is_shell(program)) return false;
  const auto& argv = *program.argv;
  const Account& account = exit.program.account;
  const std::uint64_t written = account.written_bytes.value_or(0);
  if (account.storage_written_bytes.value_or(0) != 0 || written >= kBriefBytes) return false;
  if (is_one_of(kAsking, argv.back())) return true;
  if (!is_brief(exit)) return false;
  // "samtools sort" alone, too.
  const bool is_bare = argv.size() == 1 || (argv.size() == 2 && is_word(argv[1]));
  const auto read = account.read_bytes ? account.read_bytes : account.read_at_most_bytes;
  if (is_bare && written >= kUsageBytes && read && *read < kMostReadBytes) return true;
  return argv.size() <= 3 && is_one_of(kMayAsk, argv.back());
}

/// Its exec has failed, which its parent knows: it has sent the error there, and has ended as who can't execute does.
bool never_executed(const ProcessExit& exit) {
  const std::string_view name = program_name(*exit.process);
  if (!(is_copy(exit) || name == "jspawnhelper") || is_shell(*exit.process) || !exit.exit_code) return false;
  const std::int32_t status = *exit.exit_code;
  if (status != 255 && status != 253 && status != kNotFound && status != kNotFound - 1) return false;
  const std::uint64_t written = exit.program.account.written_bytes.value_or(0);
  if (name.starts_with("python")) return written != 0 && written <= kMostErrorNameBytes;
  return written >= kLeastErrorBytes && written <= kMostErrorBytes;
}

}  // namespace

bool is_shell(const Program& program) { return is_one_of(kShells, program_name(program)); }

bool is_copy(const ProcessExit& exit) {
  return !exit.attached_ns && exit.program.start_ns && *exit.program.start_ns == exit.start_ns;
}

bool only_wraps(const ProcessExit& exit) {
  return is_copy(exit) || runs_text(*exit.process) || is_one_of(kWrappers, program_name(*exit.process));
}

bool runs_all(const Process& process) {
  return program_name(process) == "xargs" || process.program->tool.value_or("").starts_with("parallel");
}

bool ends_others(const Process& process) { return is_one_of(kEnders, program_name(process)); }

bool cleans_up(const Process& process) { return ends_others(process) || is_one_of(kReporters, program_name(process)); }

bool is_worker(const ProcessExit& exit) {
  const auto& argv = exit.process->program->argv;
  return is_copy(exit) || (argv && std::find(argv->begin(), argv->end(), "--multiprocessing-fork") != argv->end());
}

bool is_brief(const ProcessExit& exit) {
  const Account& account = exit.program.account;
  const bool waited = account.process_ledger && account.process_ledger->child_ns >= kBriefChildNs;
  return account.cpu_ns.value_or(0) < kBriefCpuNs && account.written_bytes.value_or(0) < kBriefBytes && !waited;
}

bool could_not_load(const Process& process, const ProgramAccount& program, std::int32_t exit_code) {
  if (exit_code != kNotFound || is_shell(process) || is_one_of(kWrappers, program_name(process))) return false;
  if (!program.start_ns || *program.start_ns == process.start_ns) return false;
  return program.account.cpu_ns && *program.account.cpu_ns < kLoaderCpuNs;
}

bool was_at_work(const ProcessExit& exit) {
  const Account& account = exit.program.account;
  if (account.process_ledger) {
    const ProcessLedger& ledger = *account.process_ledger;
    return ledger.life_ns != 0 && 10 * (ledger.running_ns + ledger.run_queue_ns + ledger.disk_ns) >= 9 * ledger.life_ns;
  }
  return account.cpu_ns && 10 * *account.cpu_ns >= 9 * (exit.end_ns - std::min(exit.end_ns, exit.begin_ns));
}

bool same_end(const ProcessExit& parent, const ChildEnd& child) {
  if (sums_up(parent, child)) return true;
  if (parent.exit_signal) return parent.exit_signal == child.exit_signal;
  if (!parent.exit_code || *parent.exit_code == 0) return false;
  if (child.exit_code) return parent.exit_code == child.exit_code;
  if (!child.exit_signal) return false;
  return *parent.exit_code == kOfSignal + *child.exit_signal ||
         (*parent.exit_code == kTimedOut && child.sender_pid == parent.process->pid);
}

bool is_common(const ProcessExit& parent) { return parent.exit_code == kCommonStatus; }

EndNature nature_of(const ProcessExit& exit, bool by_starter, bool by_service_engine) {
  if (exit.status_is_answer) return EndNature::kAnswer;
  if (exit.exit_signal) {
    const bool by_itself = exit.exit_signal_sender_pid == exit.process->pid;
    if (*exit.exit_signal == SIGPIPE && (by_itself || exit.exit_signal_sender != "process"))
      return EndNature::kReaderLeft;
    if (by_service_engine) return EndNature::kServiceOver;
    return by_starter ? EndNature::kEndedByStarter : EndNature::kFailure;
  }
  const bool wrote_in_vain =
      exit.broken_pipe_ns && exit.end_ns - std::min(exit.end_ns, *exit.broken_pipe_ns) <= kBrokenPipeNs;
  if (wrote_in_vain || exit.exit_code == kOfSignal + SIGPIPE) return EndNature::kReaderLeft;
  if (exit.exit_code == kShellSaysNo && is_copy(exit) && is_shell(*exit.process)) return EndNature::kAnswer;
  if (was_asked(exit) || never_executed(exit)) return EndNature::kAnswer;
  return EndNature::kFailure;
}

}  // namespace tracer::internal
