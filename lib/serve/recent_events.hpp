// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/host.hpp>

#include "base/process_id.hpp"
#include "base/unique_fd.hpp"
#include "serve/event_frame.hpp"
#include "serve/restart_viewers.hpp"
#include "serve/sight.hpp"

namespace tracer::internal {

/// The recent events of a service, in memory that outlives it: a descriptor that somebody else holds, too. What is in
/// it was delivered, also where a client or a recording has not got it yet. One thread, unless it says otherwise.
///
/// It has two halves, which are filled in turn. Each begins with what is needed to go on from there.
class RecentEvents {
 public:
  static constexpr std::size_t kHalfBytes = 4u << 20;

  using Viewer = KeptViewer;
  /// What filters have decided takes no more in a half, each and all together: the rest is not kept.
  static constexpr std::size_t kMostFilteredBytes = 128u << 10;
  static constexpr std::size_t kMostBytesOfFiltered = 1u << 20;
  using Viewers = std::function<std::vector<Viewer>()>;
  struct Judged {
    Event event;
    Owner owner;
    bool changed_user = false;  ///< As Ownership::changed_user().
  };
  /// What of the kernel's rings is in the spool: of that kernel side only.
  struct Position {
    std::uint64_t side = 0;
    std::vector<std::uint64_t> given = {};
  };
  /// What an earlier process has left.
  struct Left {
    struct Process {
      std::shared_ptr<const tracer::Process> process;
      std::optional<std::uint64_t> exec_ns;  ///< Of its present program, if that is known.
      std::optional<std::uint64_t> attached_ns;
    };
    std::vector<Viewer> viewers;  ///< As of the first of the events.
    std::vector<Judged> events;   ///< The last ones.
    /// Of viewers that came between them: how many events were before.
    std::vector<std::pair<std::size_t, Viewer>> newcomers;
    std::uint64_t next = 1;    ///< The number of the event behind them, over all sights.
    std::uint64_t missed = 0;  ///< Events from there on that left the rings and are not here.
    Position position;
    std::map<ProcessId, Process> living;
    std::uint64_t exits = 0;
    std::map<std::string, std::uint64_t> losses;
  };

  /// A new one. Throws Error(kNoMemory).
  explicit RecentEvents(const HostInfo& host);
  /// One that an earlier process has left; it goes on with it. Absent: it is none, or damaged.
  static std::optional<Left> read(int memory);
  RecentEvents(const HostInfo& host, UniqueFd memory, const Left& left);

  int memory() const noexcept { return memory_.get(); }
  /// A round of events, with their owners, all or none. `viewers`: says how they are before it, where it is asked.
  /// False: there is no memory; they are not in it.
  bool append(std::span<const Judged> events, const Position& position, const Viewers& viewers);
  /// Viewers have come or changed, before the next event. `all`: as above.
  bool append(const std::vector<Viewer>& viewers, const Viewers& all);
  /// It wants to know what lives: keep_living() with that, as of the last round that was appended.
  bool wants_living() const noexcept { return wants_living_; }
  void keep_living(std::span<const Event> living);
  /// From any thread: so many events, over all rounds, left the rings, whether they are here or not.
  void note_released(std::uint64_t events) noexcept;
  /// What comes next has at least this number: events before it were lost, and that is said among those that came.
  void go_to(std::uint64_t next) noexcept { next_ = std::max(next_, next); }
  /// The number of the next event.
  std::uint64_t next() const noexcept { return next_; }

 private:
  bool write(Bytes entry, const Viewers& viewers);
  bool begin_half(const Viewers& viewers);
  bool write_raw(std::span<const std::byte> entry);
  void count(const Event& event);

  UniqueFd memory_;
  FrameMaker maker_;
  std::uint32_t half_ = 0;
  std::uint64_t generation_ = 1;
  std::size_t used_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t exits_ = 0;
  std::map<std::string, std::uint64_t> losses_;
  bool wants_living_ = false;
};

}  // namespace tracer::internal
