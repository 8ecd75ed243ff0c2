// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include <tracer/process.hpp>

#include "context/context_place.hpp"
#include "context/scope.hpp"

namespace tracer::internal {

/// Where there are many: scopes that nothing holds any more.
template <class Scopes>
void forget_expired(Scopes& scopes) {
  constexpr std::size_t kMost = 1u << 17;
  if (scopes.size() > kMost) std::erase_if(scopes, [](const auto& one) { return one.second.expired(); });
}

/// Scopes that rules have begun and that processes elsewhere on the host belong to, by texts from arguments, folders
/// and cgroups. Anybody can write any text there: a process joins the scopes of its own user. One thread at a time.
class SharedScopes {
 public:
  explicit SharedScopes(ScopeContexts& contexts) : contexts_(contexts) {}

  /// The scope with the key that the process may be in; null: none. Where the same path leads the process to another
  /// folder than the one that the scope stands for, it is another one's. Root's process, as in a container, joins that
  /// whose folder it works in, else the only one that there is; in a pod, which need not be of this host's users, only
  /// root's. `by_cgroup`: root has put the process there.
  std::shared_ptr<Scope> find(const std::string& key, const ContextPlace& place, const Process& process,
                              bool by_cgroup);
  void add(const std::string& key, const std::shared_ptr<Scope>& scope) { by_key_.emplace(key, scope); }

  /// The one run of the process's user that serves this and whose leader lives; null where there is none, or more than
  /// one.
  std::shared_ptr<Scope> run_serving(const std::string& served_by, const Process& process);
  void add_serving(const std::string& serves, const Process& process, const std::shared_ptr<Scope>& run) {
    serving_.emplace(of_user(process, serves), run);
  }

  void forget_ended() {
    forget_expired(by_key_);
    forget_expired(serving_);
  }

 private:
  /// `text` of the user whose process this is.
  std::string of_user(const Process& process, const std::string& text) const;

  ScopeContexts& contexts_;
  std::unordered_multimap<std::string, std::weak_ptr<Scope>> by_key_;  ///< Of each user one.
  std::multimap<std::string, std::weak_ptr<Scope>> serving_;           ///< Runs, by their users and what they serve.
};

}  // namespace tracer::internal
