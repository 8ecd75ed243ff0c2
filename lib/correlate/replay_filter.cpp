// SPDX-License-Identifier: Apache-2.0
#include "correlate/replay_filter.hpp"

#include "base/event_fields.hpp"

namespace tracer {

bool ReplayFilter::keeps(const Event& event) {
  return std::visit(
      [this](const auto& e) {
        using E = std::remove_cvref_t<decltype(e)>;
        if constexpr (std::same_as<E, ToolSample> || std::same_as<E, CgroupSample>) {
          return filter_.selects_all();  // They can't be taken apart again.
        } else if constexpr (!ProcessEvent<E>) {
          return true;
        } else {
          const Process& process = *e.process;
          const auto [at, fresh] = processes_.try_emplace(process.pid);
          Entry& entry = at->second;
          if (fresh || entry.start_ns != process.start_ns) {
            entry = {process.start_ns, filter_.initial()};
            const auto parent = processes_.find(process.parent_pid.value_or(0));
            if (parent != processes_.end() && parent->second.start_ns == process.parent_start_ns)
              entry.selection = parent->second.selection;
          }
          Context labels;
          entry.selection = filter_.decide(entry.selection, process, labels);
          const bool keep = entry.selection == Selection::kSelected;
          if constexpr (E::kKind == EventKind::kProcessExit) processes_.erase(process.pid);
          return keep;
        }
      },
      event);
}

}  // namespace tracer
