// SPDX-License-Identifier: Apache-2.0
#include "context/open_labels.hpp"

#include <utility>

namespace tracer::internal {

OpenLabels::Scopes OpenLabels::close(const std::shared_ptr<const Context>& labels) {
  Scopes held;
  const auto at = open_.find(labels);
  if (at == open_.end() || --at->second.times != 0) return held;
  take(at->second, held);
  open_.erase(at);
  return held;
}

OpenLabels::Scopes OpenLabels::close_all() {
  Scopes held;
  for (auto& [labels, open] : open_) take(open, held);
  open_.clear();
  return held;
}

bool OpenLabels::hold(Scope& scope) {
  if (!scope.labels) return false;
  const auto at = open_.find(scope.labels);
  if (at == open_.end()) return false;
  at->second.held.try_emplace(&scope, scope.shared_from_this());
  return true;
}

void OpenLabels::take(Open& open, Scopes& held) {
  for (auto& [key, scope] : open.held) held.push_back(std::move(scope));
}

}  // namespace tracer::internal
