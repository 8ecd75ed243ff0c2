// SPDX-License-Identifier: Apache-2.0
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/run.hpp>

#include "commands/commands.hpp"
#include "files/packaged_files.hpp"
#include "process/copy_with_rights.hpp"
#include "process/privileges.hpp"
#include "show/printable.hpp"

namespace tracerd {
using tracer::internal::packaged_file;
using tracer::internal::printable;
namespace {

using Words = std::vector<std::string>;

constexpr const char* kGroup = "tracers";
constexpr const char* kUnit = "/etc/systemd/system/tracerd.service";
constexpr const char* kPackagedUnits[] = {"/usr/lib/systemd/system/tracerd.service",
                                          "/lib/systemd/system/tracerd.service"};
constexpr const char* kPackaged = "/usr/bin/tracerd";
constexpr const char* kMade = "/usr/local/share/tracer/set-up";

/// A command, or a file that is written.
struct Step {
  Words words = {};
  std::string content = {};  ///< Of the file that the first word names, where there is one.
  bool may_fail = false;
};

struct Plan {
  std::vector<Step> steps;
  std::string after;  ///< What there is to do then.
};

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// This program, whatever it is called.
std::string own_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

bool is_of_package() {
  if (own_path() != kPackaged) return false;
  for (const char* unit : kPackagedUnits)
    if (exists(unit)) return true;
  return false;
}

bool has_systemd() { return exists("/run/systemd/system"); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// What an earlier setup has made, which is all that --undo removes: "copy", "unit", "group", "rights", "service".
std::set<std::string> made_before() {
  std::set<std::string> made;
  std::ifstream file(kMade);
  for (std::string line; std::getline(file, line);) made.insert(line);
  return made;
}

bool has_group() {
  std::ifstream file("/etc/group");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(std::string(kGroup) + ':')) return true;
  return false;
}

[[noreturn]] void fail(int error_number, std::string what, std::string fix) {
  throw tracer::Error({tracer::ErrorCode::kPermission, error_number, std::move(what), std::move(fix), {}});
}

/// The steps of a setup, and what they make.
class Setup {
 public:
  Plan by_service() {
    if (!is_of_package()) {
      add_copy();
      plan_.steps.push_back({{kUnit}, replaced(std::string(packaged_file("unit")), kPackaged, kCopyWithRights)});
      plan_.steps.push_back({{"systemctl", "daemon-reload"}});
      made_.insert("unit");
    }
    plan_.steps.push_back({{"systemctl", "enable", "--now", "tracerd.service"}});
    // One that ran is the old one.
    if (!is_of_package()) plan_.steps.push_back({{"systemctl", "restart", "tracerd.service"}});
    made_.insert("service");
    plan_.after = "Every user of this host can now trace their own processes: tracerd run COMMAND";
    return with_record();
  }

  Plan by_capabilities(const std::optional<std::string>& user) {
    add_copy();
    if (!has_group()) made_.insert("group");
    plan_.steps.push_back({{"groupadd", "--system", "--force", kGroup}});
    if (user) plan_.steps.push_back({{"usermod", "--append", "--groups", kGroup, *user}});
    plan_.steps.push_back({{"chgrp", kGroup, kCopyWithRights}});
    plan_.steps.push_back({{"chmod", "750", kCopyWithRights}});
    // Last: chgrp takes capabilities away.
    plan_.steps.push_back({{"setcap", "cap_bpf,cap_perfmon+ep", kCopyWithRights}});
    made_.insert("rights");
    plan_.after = fmt::format(
        "Members of the group {} can now trace their own processes: tracerd run COMMAND\n"
        "A member is who logs in from now on; in this shell, first: newgrp {}",
        kGroup, kGroup);
    return with_record();
  }

 private:
  /// The program that is set up: one that was installed there, or a copy that no upgrade of a user's environment
  /// replaces.
  void add_copy() {
    if (own_path() == kCopyWithRights) return;
    if (exists(kCopyWithRights) && !made_.contains("copy"))
      fail(0, fmt::format("there is a {} that this did not make", kCopyWithRights),
           fmt::format("set that one up: {} setup", kCopyWithRights));
    // Replaced as a whole: one that runs goes on with the old one.
    const std::string fresh = std::string(kCopyWithRights) + ".new";
    plan_.steps.push_back({{"install", "-D", "-m", "755", own_path(), fresh}});
    plan_.steps.push_back({{"mv", "-f", fresh, kCopyWithRights}});
    made_.insert("copy");
  }

  Plan with_record() {
    std::string lines;
    for (const std::string& each : made_) lines += each + '\n';
    // Before the first change, so that all of them can be undone.
    plan_.steps.insert(plan_.steps.begin(),
                       {Step{{"mkdir", "-p", std::filesystem::path(kMade).parent_path()}}, Step{{kMade}, lines}});
    return std::move(plan_);
  }

  Plan plan_;
  std::set<std::string> made_ = made_before();
};

Plan plan_of_undo() {
  Plan plan;
  const std::set<std::string> made = made_before();
  if (made.empty())
    fail(0, "nothing is there that 'tracerd setup' has made",
         "what a package or install.sh has installed, that removes");
  if (made.contains("service")) plan.steps.push_back({{"systemctl", "disable", "--now", "tracerd.service"}, {}, true});
  if (made.contains("unit")) {
    plan.steps.push_back({{"rm", "-f", kUnit}});
    plan.steps.push_back({{"systemctl", "daemon-reload"}, {}, true});
  }
  if (made.contains("copy")) {
    plan.steps.push_back({{"rm", "-f", kCopyWithRights}});
  } else if (made.contains("rights")) {
    plan.steps.push_back({{"setcap", "-r", kCopyWithRights}, {}, true});
    plan.steps.push_back({{"chmod", "755", kCopyWithRights}, {}, true});
  }
  if (made.contains("group")) plan.steps.push_back({{"groupdel", kGroup}, {}, true});
  plan.steps.push_back({{"rm", "-f", kMade}});
  plan.after = "Configuration and recordings stay: /etc/tracer, /var/lib/tracer";
  return plan;
}

std::string line_of(const Step& step) {
  if (!step.content.empty()) return fmt::format("+ write {}\n", step.words.front());
  std::string line = "+";
  for (const std::string& word : step.words) line += ' ' + printable(word);
  return line + '\n';
}

/// Returns if it can't be executed.
void become(Words words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
}

/// The status that a child leaves, which does `body`, and 127 if that returns.
template <class Body>
int status_of(const Body& body) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) fail(errno, "can't fork", {});
  if (child == 0) {
    body();
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void write_file(const std::string& path, const std::string& content) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::trunc);
  file << content;
  file.close();
  if (!file || ::chmod(fresh.c_str(), 0644) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0)
    fail(errno, "can't write " + path, "see why; what was done before stays: tracerd setup --undo");
}

void carry_out(const Step& step) {
  fmt::print("{}", line_of(step));
  if (!step.content.empty()) return write_file(step.words.front(), step.content);
  const int status = status_of([&step] { become(step.words); });
  if (status == 0 || step.may_fail) return;
  const std::string& program = step.words.front();
  const char* fix = status != 127         ? "see its message above; what was done before stays: tracerd setup --undo"
                    : program == "setcap" ? "install it: apt-get install libcap2-bin, or dnf install libcap"
                    : program == "groupadd" || program == "usermod"
                        ? "install it: apt-get install passwd, or dnf install shadow-utils"
                        : "install it, or set PATH";
  fail(0, status == 127 ? program + " is missing" : fmt::format("{} failed with status {}", program, status), fix);
}

/// What `tracerd check` says of it, as the user, with the new group.
bool works_for(const std::string& name) {
  const tracer::User user = tracer::find_user(name);
  const char* const program = is_of_package() && !exists(kCopyWithRights) ? kPackaged : kCopyWithRights;
  return status_of([&] {
           const bool is_user = ::setgroups(user.groups.size(), user.groups.data()) == 0 && ::setgid(user.gid) == 0 &&
                                ::setuid(user.uid) == 0;
           if (!is_user || std::freopen("/dev/null", "w", stdout) == nullptr) return;
           ::unsetenv("SUDO_UID");
           become({program, "check"});
         }) == 0;
}

/// Whose rights are set up: who called sudo.
std::optional<std::string> calling_user() {
  const char* name = std::getenv("SUDO_USER");
  if (name == nullptr || *name == '\0' || std::string_view(name) == "root") return std::nullopt;
  return name;
}

/// The same, asked for once.
[[noreturn]] void go_on_as_root(const Options& options) {
  Words words = {"sudo", "--", own_path(), "setup"};
  if (options.capabilities) words.push_back("--capabilities");
  if (options.undo) words.push_back("--undo");
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + printable(word);
  fmt::print("+ {}\n", line);
  std::fflush(stdout);
  become(words);
  fail(errno, "sudo is missing", "as root, or by whoever administers this host: " + line.substr(line.find("-- ") + 3));
}

}  // namespace

int setup_command(const Options& options) {
  const bool by_service = has_systemd() && !options.capabilities;
  const bool is_root = ::geteuid() == 0;
  const auto user = is_root ? calling_user() : std::optional(tracer::find_user(std::to_string(::getuid())).name);
  const Plan plan = options.undo ? plan_of_undo() : by_service ? Setup().by_service() : Setup().by_capabilities(user);
  if (options.dry_run) {
    for (const Step& step : plan.steps) fmt::print("{}", line_of(step));
    return 0;
  }
  if (!is_root) go_on_as_root(options);
  for (const Step& step : plan.steps) carry_out(step);
  if (!options.undo && user && !works_for(*user))
    fail(0, "it is set up, but tracing does not work for " + printable(*user),
         fmt::format("see why: {} check", by_service && is_of_package() ? kPackaged : kCopyWithRights));
  fmt::print("{}\n", plan.after);
  return 0;
}

}  // namespace tracerd
