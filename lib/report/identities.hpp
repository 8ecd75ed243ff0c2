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

/// True: it has a row of its own below its step or run.
bool is_in_task(const Context& identity) noexcept;

/// Which run, step and task the processes of a context are counted in. Bounded: what is not told apart any more gets an
/// identity that it shares with all of its kind. The same context has the same identity forever.
class Identities {
 public:
  /// The reference holds until the next call.
  const Context& of(const std::shared_ptr<const Context>& context);

 private:
  Context bounded(Context identity);
  const Context& run_of(const Context& identity);
  bool tells_step(const std::string& run, const std::string& step);

  std::map<std::string, Context> runs_;                  ///< As they were first seen, by key.
  std::set<std::pair<std::string, std::string>> steps_;  ///< With the key of their run.
  std::set<Context> told_;                               ///< Identities that are told apart.
  std::unordered_map<const Context*, std::pair<std::shared_ptr<const Context>, Context>> known_;
};

}  // namespace tracer::internal
