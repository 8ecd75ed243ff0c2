// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <tracer/event.hpp>

#include "base/fair_room.hpp"
#include "state/since_attach.hpp"

namespace tracer::internal {

/// What the host's processes have used since the service began, by tool and by step, for whoever watches many hosts.
/// The sums never fall, and have a bounded number of rows, which users share fairly: a row stays, and what finds no
/// room is added to one called "other". One thread.
class UsageTotals {
 public:
  static constexpr std::size_t kMostRows = 256;       ///< Of a tool or step by its own name.
  static constexpr std::size_t kMostOtherRows = 48;   ///< Of all other tools or steps of a pipeline.
  static constexpr std::size_t kMostNameBytes = 100;  ///< A longer name ends with "…".

  /// In the order of events. `owner`: whose it is; 0: root's, or nobody's.
  void add(const Event& event, uid_t owner);
  /// A failure began with it, as FailureChains decides.
  void failed(const Process& process, uid_t owner);
  /// One object, as docs/protocol.md describes it. `living`: what lives now, with what is submitted.
  std::string json(std::string_view host, std::span<const Event> living,
                   const std::function<uid_t(const Event&)>& owner_of);

  std::size_t rows() const noexcept { return tools_.size() + steps_.size(); }

 private:
  /// As many tasks may be over when a process joins one of them again, and it counts once.
  static constexpr std::size_t kMostFinished = 4096;
  /// CPU time, bytes read and written.
  using Figures = std::array<std::uint64_t, 3>;
  using KnownFigures = std::array<std::optional<std::uint64_t>, 3>;

  struct Key {
    std::string pipeline;
    std::string name;
    bool is_system = false;

    auto operator<=>(const Key&) const = default;
  };
  struct Tool {
    KnownFigures used = {};
    std::uint64_t processes = 0;
    std::uint64_t failed = 0;
    std::optional<std::uint64_t> oom_kills = {};
  };
  struct Step {
    std::optional<std::uint64_t> cpu_ns = {};
    std::uint64_t tasks = 0;
    std::uint64_t failed = 0;
    std::uint64_t wall_ns = 0;
    std::uint64_t running = 0;  ///< Now, as the next.
    std::uint64_t queued = 0;
  };
  struct Living {
    std::uint64_t start_ns = 0;
    Figures of_ended = {};  ///< Programs that it ran before.
    Figures counted = {};
  };
  struct Finished {
    std::uint64_t wall_ns = 0;
    bool failed = false;
  };

  static KnownFigures figures_of(const Account& account);
  template <class Row>
  Row& row(std::map<Key, Row>& rows, const Context& context, std::string_view name, uid_t owner);
  Tool& tool(const Context& context, const Program& program, uid_t owner);
  Step& step(const Context& context, uid_t owner);
  Living* living(const Process& process);
  /// Up to now it has used so much in all.
  Tool& used(Living& living, const KnownFigures& total, const Process& process, const Program& program, uid_t owner);
  void execed(const ProcessExec& exec, uid_t owner);
  void ended(const ProcessExit& exit, uid_t owner);
  void finished(const TaskFinish& finish, uid_t owner);

  FairRoom room_{kMostRows};
  FairRoom other_room_{kMostOtherRows};
  std::map<Key, Tool> tools_;
  std::map<Key, Step> steps_;
  SinceAttach since_attach_;
  std::unordered_map<std::uint32_t, Living> living_;  ///< By pid: what a sample or an exec has counted.
  std::unordered_map<std::uint64_t, Finished> finished_;
  std::deque<std::uint64_t> finished_order_;
};

}  // namespace tracer::internal
