// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "context/scope.hpp"

namespace tracer::internal {

/// The labels that threads have now, and the scopes that only they keep from being finished.
class OpenLabels {
 public:
  using Scopes = std::vector<std::shared_ptr<Scope>>;

  void open(const std::shared_ptr<const Context>& labels) { ++open_[labels].times; }
  /// Once for each open(). Returns what it has kept, if this was the last.
  Scopes close(const std::shared_ptr<const Context>& labels);
  Scopes close_all();
  /// True: the scope is not over, as something may still be labeled so. It is remembered until close().
  bool hold(Scope& scope);

 private:
  struct Open {
    std::size_t times = 0;
    std::map<const Scope*, std::shared_ptr<Scope>> held;
  };
  static void take(Open& open, Scopes& held);

  std::map<std::shared_ptr<const Context>, Open> open_;
};

}  // namespace tracer::internal
