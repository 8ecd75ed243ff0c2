// SPDX-License-Identifier: Apache-2.0
/// The audit hook: the label of a thread is set again just before it forks, or makes a thread.
#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

#include "task_scope.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kForks = {
    "os.fork"sv,   "os.forkpty"sv,       "os.posix_spawn"sv,           "os.system"sv,
    "pty.spawn"sv, "subprocess.Popen"sv, "_thread.start_new_thread"sv, "_thread.start_joinable_thread"sv,
};
constexpr std::string_view kProbe = "tracer.probe";

std::atomic<std::uint64_t> probes{0};

/// Most events are told by their first two bytes.
bool may_be_ours(const char* event) noexcept {
  switch (event[0]) {
    case 'o': return event[1] == 's' && event[2] == '.';
    case 's': return event[1] == 'u';
    case 'p': return event[1] == 't';
    case '_': return event[1] == 't';
    case 't': return event[1] == 'r';
    default: return false;
  }
}

/// Raises and refuses nothing, so that others' hooks and the program go on.
int on_audit(const char* event, PyObject* /*arguments*/, void* /*data*/) noexcept {
  if (!may_be_ours(event)) return 0;
  const std::string_view name(event);
  if (name == kProbe) probes.fetch_add(1);
  if (!tasks_in_use() || !in_home_interpreter()) return 0;
  if (std::find(kForks.begin(), kForks.end(), name) != kForks.end()) sync_labels(Surety::kSure);
  return 0;
}

}  // namespace

void add_audit_hook() {
  if (PySys_AddAuditHook(on_audit, nullptr) < 0) throw py::error_already_set();
}

std::uint64_t audit_probes() noexcept { return probes.load(); }

}  // namespace tracer::python
