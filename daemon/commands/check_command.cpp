// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <tracer/check.hpp>
#include <tracer/host.hpp>
#include <tracer/source.hpp>
#include <tracer/tier.hpp>
#include <tracer/version.hpp>

#include "commands/commands.hpp"
#include "process/copy_with_rights.hpp"
#include "process/privileges.hpp"
#include "show/printable.hpp"
#include "source/proc/user_namespace.hpp"

namespace tracerd {
using tracer::internal::printable;
namespace {

constexpr const char* kCopyName = "copy with rights at ";

/// What tracerd does before it runs anything, in a child, as it is for good.
tracer::CheckItem identity_item() {
  tracer::CheckItem item;
  item.name = "giving up rights";
  item.effect = "tracerd run and watch, which keep no more rights than they need";
  int ends[2];
  if (::pipe(ends) != 0) throw tracer::Error({tracer::ErrorCode::kInternal, errno, "can't make a pipe", {}, {}});
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw tracer::Error({tracer::ErrorCode::kInternal, errno, "can't fork", {}, {}});
  if (child == 0) {
    std::string text;
    int error_number = 0;
    try {
      drop_privileges();
    } catch (const tracer::Error& error) {
      error_number = error.problems().front().error_number;
      text = error.problems().front().what + '\n' + error.problems().front().fix;
    }
    [[maybe_unused]] const ssize_t put = ::write(ends[1], text.data(), text.size());
    ::_exit(text.empty() ? 0 : error_number);
  }
  ::close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  item.available = WIFEXITED(status) && WEXITSTATUS(status) == 0 && text.empty();
  if (item.available) return item;
  const std::size_t line = std::min(text.find('\n'), text.size());
  item.problem = tracer::Problem{tracer::ErrorCode::kPermission,
                                 WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                                 line == 0 ? "rights can't be given up" : text.substr(0, line),
                                 line < text.size() ? text.substr(line + 1) : "",
                                 {}};
  return item;
}

/// What `tracerd setup` has set up; absent: nothing.
std::optional<tracer::CheckItem> copy_item() {
  const auto version = version_of_copy();
  if (!version) return std::nullopt;
  tracer::CheckItem item;
  item.name = fmt::format("{}{}", kCopyName, kCopyWithRights);
  item.required = false;
  item.effect = "tracerd run and watch of users without rights";
  item.available = *version == TRACER_VERSION;
  if (!item.available)
    item.problem = tracer::Problem{tracer::ErrorCode::kPermission,
                                   0,
                                   fmt::format("it is {}, this is {}", printable(*version, 40), TRACER_VERSION),
                                   "tracerd setup",
                                   {}};
  return item;
}

/// What an ordinary user has instead of rights.
tracer::CheckItem service_item() {
  tracer::CheckItem item;
  const std::string socket = tracer::service_socket_to_try().string();
  item.name = "service at " + printable(socket);
  item.required = false;
  item.effect = "tracerd run and watch, and Python's sessions, of users without rights";
  try {
    static_cast<void>(tracer::connect(socket));
    item.available = true;
  } catch (const tracer::Error& error) {
    item.problem = error.problems().front();
  }
  return item;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_of(const tracer::Problem& problem) {
  return fmt::format(R"({{"code":{},"message":{},"fix":{},"detail":{}}})", json_text(to_string(problem.code)),
                     json_text(problem.what), json_text(problem.fix), json_text(problem.detail));
}

std::string json_of(const tracer::FamilyState& family) {
  return fmt::format(R"({{"name":{},"available":{},"mechanism":{},"problem":{}}})", json_text(to_string(family.family)),
                     family.active, json_text(family.mechanism), family.problem ? json_of(*family.problem) : "null");
}

template <class T>
std::string json_of(const std::vector<T>& all) {
  std::string out;
  for (const T& each : all) out += (out.empty() ? "" : ",") + json_of(each);
  return '[' + out + ']';
}

/// The last items.
bool works_by_service(const tracer::CheckReport& report) { return report.items.back().available; }
bool works_by_copy(const tracer::CheckReport& report) {
  const tracer::CheckItem& item = report.items[report.items.size() - 2];
  return item.available && item.name.starts_with(kCopyName);
}
bool works(const tracer::CheckReport& report) {
  return report.usable() || works_by_service(report) || works_by_copy(report);
}

void print_detail(std::string_view detail) {
  for (const char* head = "detail: "; !detail.empty(); head = "        ") {
    const std::size_t end = std::min(detail.find('\n'), detail.size());
    fmt::print("          {}{}\n", head, printable(detail.substr(0, end)));
    detail.remove_prefix(std::min(end + 1, detail.size()));
  }
}

void print_text(const tracer::CheckReport& report) {
  const tracer::HostInfo host = tracer::this_host();
  fmt::print("Linux {} on {}, {} CPUs\n\n", host.kernel_release, host.architecture, host.cpu_count);
  for (const tracer::CheckItem& item : report.items) {
    const char* state = item.available ? "ok      " : item.required ? "MISSING " : "absent  ";
    fmt::print("{}{}: {}\n", state, item.name, item.effect);
    if (!item.problem) continue;
    fmt::print("          {} [{}]\n", item.problem->what, to_string(item.problem->code));
    if (!item.problem->fix.empty()) fmt::print("          fix: {}\n", item.problem->fix);
    print_detail(item.problem->detail);
  }
  for (const tracer::FamilyState& family : report.families)
    if (family.problem)
      fmt::print("{}{}: {} [{}]\n", family.active ? "partly  " : "absent  ", to_string(family.family),
                 family.problem->what, to_string(family.problem->code));
  fmt::print(
      "\nNot visible on any kernel: bytes moved by io_uring, splice or mapped files (read_bytes, written_bytes).\n");
  fmt::print("\n{}\n", report.usable() ? "tracing works here"
                       : works_by_copy(report)
                           ? "tracing works here by the copy with rights, for this user's own processes"
                       : works_by_service(report)
                           ? "tracing works here by the service, for this user's own processes"
                           : "exact tracing does not work here: items marked MISSING are required;\n"
                             "where the kernel refuses it, tracerd run uses /proc: its figures are lower bounds");
  const bool as_root = ::geteuid() == 0;
  if (as_root ? std::getenv("SUDO_UID") == nullptr : works(report)) return;
  if (tracer::internal::in_user_namespace()) return;
  std::error_code ignored;
  fmt::print("\nTo trace as yourself, with your own PATH, once: {} setup\n",
             printable(std::filesystem::read_symlink("/proc/self/exe", ignored).string()));
}

}  // namespace

int check_command(const Options& options) {
  if (options.rules) {
    tracer::check_engine_rules(*options.rules);
    fmt::print("{}: no mistakes\n", printable(*options.rules));
    return 0;
  }
  tracer::CheckReport report = tracer::check();
  report.items.push_back(identity_item());
  if (auto copy = copy_item()) report.items.push_back(std::move(*copy));
  report.items.push_back(service_item());
  if (options.as_json) {
    fmt::print("{{\"works\":{},\"problems\":{},\"families\":{}}}\n", works(report), json_of(report.problems()),
               json_of(report.families));
  } else {
    print_text(report);
  }
  return works(report) ? 0 : 1;
}

}  // namespace tracerd
