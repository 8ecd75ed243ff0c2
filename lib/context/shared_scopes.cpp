// SPDX-License-Identifier: Apache-2.0
#include "context/shared_scopes.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "context/task_folder.hpp"

namespace tracer::internal {

std::string SharedScopes::of_user(const Process& process, const std::string& text) const {
  if (!process.uid) return ' ' + text;
  return fmt::format("{} {}", contexts_.user_ids().owner_of(*process.uid), text);
}

std::shared_ptr<Scope> SharedScopes::find(const std::string& key, const ContextPlace& place, const Process& process,
                                          bool by_cgroup) {
  const bool is_root = process.uid.value_or(0) == 0;
  const auto in_pod = [&place] {
    for (const Scope* each = place.scope.get(); each != nullptr; each = each->outer.get())
      if (each->begins == Begins::kPlace) return true;
    return false;
  };
  std::shared_ptr<Scope> own;
  std::shared_ptr<Scope> others;
  std::size_t count = 0;
  const auto [begin, end] = by_key_.equal_range(key);
  for (auto each = begin; each != end;) {
    auto known = each->second.lock();
    // Its key may be another by now.
    if (!known || known->key != key) {
      each = by_key_.erase(each);
      continue;
    }
    ++each;
    if (is_in(place.scope.get(), known.get())) return known;
    if (known->folder && place.folder && known->leader_program->cwd == process.program->cwd &&
        contradict(*known->folder, *place.folder))
      continue;
    const auto owner = contexts_.owner_of(*known);
    if (owner && known->folder && place.folder && works_for(*owner, *known->folder, process, *place.folder))
      return known;
    if (contexts_.user_ids().same(owner, process.uid) || (!owner && !process.uid)) {
      if (!own) own = std::move(known);
      continue;
    }
    others = std::move(known);
    ++count;
  }
  if (own) return own;
  if (count == 1 && by_cgroup) {
    contexts_.joined(*others, process.uid, true);
    return others;
  }
  return count == 1 && is_root && !in_pod() ? others : nullptr;
}

std::shared_ptr<Scope> SharedScopes::run_serving(const std::string& served_by, const Process& process) {
  std::shared_ptr<Scope> found;
  const auto [begin, end] = serving_.equal_range(of_user(process, served_by));
  for (auto each = begin; each != end;) {
    const auto run = each->second.lock();
    if (!run) {
      each = serving_.erase(each);
      continue;
    }
    ++each;
    if (run->leader_failed) continue;
    if (found) return nullptr;
    found = run;
  }
  return found;
}

}  // namespace tracer::internal
