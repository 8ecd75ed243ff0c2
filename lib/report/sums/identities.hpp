// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <tracer/context.hpp>

namespace tracer::internal {

/// Which run, step and task the processes of a context are counted in. Bounded: what is not told apart any more gets an
/// identity that it shares with all of its kind. The same context has the same identity until its run is
/// forgotten.
class Identities {
 public:
  /// The reference holds until the next call.
  const Context& of(const std::shared_ptr<const Context>& context);
  /// Something new was told apart since the last call, and there is room for little more.
  bool wants_room() noexcept { return std::exchange(wants_room_, false); }
  /// Nothing is counted as this any more.
  void forget(const Context& identity) { told_.erase(identity); }
  /// There is room again.
  bool has_room() const noexcept;
  /// These runs, by key, are told apart no more.
  void forget_runs(const std::set<std::string>& keys);
  /// What such an identity is counted as from then on.
  Context earlier(const Context& identity);

 private:
  Context bounded(Context identity);
  const Context& run_of(const Context& identity);
  bool tells_step(const std::string& run, const std::string& step);
  void note_growth() noexcept;

  std::map<std::string, Context> runs_;                  ///< As they were first seen, by key.
  std::set<std::pair<std::string, std::string>> steps_;  ///< With the key of their run.
  std::set<Context> told_;                               ///< Identities that are told apart.
  bool wants_room_ = false;
  std::set<Context> earlier_;  ///< Of runs that are told apart no more.
  std::unordered_map<const Context*, std::pair<std::shared_ptr<const Context>, Context>> known_;
};

}  // namespace tracer::internal
