// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/filter.hpp>

#include "base/unique_fd.hpp"
#include "protocol/line_splitter.hpp"
#include "protocol/messages.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_reader.hpp"

namespace tracer::internal {

/// The stream of events of a service, over a connection of its own. Never waits, except to connect. One thread at a
/// time.
class ServiceStream {
 public:
  /// Connects at once: who the caller is counts now, whatever rights it gives up later. Throws what
  /// connect_to_service() throws.
  explicit ServiceStream(std::filesystem::path socket);
  ~ServiceStream() { close(); }
  ServiceStream(const ServiceStream&) = delete;
  ServiceStream& operator=(const ServiceStream&) = delete;

  /// What is still of use if the service has gone on meanwhile.
  struct Resume {
    std::string session_id;
    std::uint64_t from = 0;
    std::uint64_t stream = 0;  ///< As in Opened.
  };
  /// Asks for events that the filter takes in, over a new connection unless the first is still unused; what lives comes
  /// first, unless the service goes on where `resume` says. `filter`: see fits_request(). Throws what
  /// connect_to_service() throws.
  void open(Filter filter = {}, std::optional<Resume> resume = {});
  void close() noexcept;

  enum class Step {
    kNothing,  ///< Nothing more is there now.
    kOpened,   ///< opened() is there.
    kEvent,
    kCut,  ///< It is closed; problem() says why.
  };
  /// What comes next.
  Step next(Event& event);

  struct Opened {
    std::string session_id;
    bool resumed = false;
    std::uint64_t sequence = 0;  ///< Of the first event after those that say what lives.
    std::uint64_t missed = 0;
    std::uint64_t living = 0;  ///< How many come before that, without numbers.
    std::uint64_t stream = 0;  ///< What the service calls it, and whose numbers these are; 0: it has no filter.
  };
  const Opened& opened() const noexcept { return opened_; }
  /// The sequence number of the event that comes next.
  std::uint64_t sequence() const noexcept { return sequence_; }
  /// How many of those that say what lives are still to come.
  std::uint64_t living_left() const noexcept { return living_left_; }
  const Problem& problem() const noexcept { return problem_; }
  bool is_open() const noexcept { return phase_ != Phase::kClosed; }
  int fd() const noexcept { return fd_.get(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kClosed, kHello, kSubscribe, kHeader, kStream };
  static constexpr std::size_t kReadBytes = 64u << 10;

  Step greet();
  void take_reply(std::string_view line);
  Step take_header();
  Step take_event(Event& event);
  /// False: nothing is there now, or it is cut.
  bool read_more();
  Step cut(Problem problem);
  Step cut_as_garbage();
  void send(const Request& request);
  void count_frame();

  const std::filesystem::path socket_;
  std::vector<std::byte> buffer_;
  UniqueFd fd_;
  Phase phase_ = Phase::kClosed;
  Clock::time_point until_ = {};  ///< By then the stream has begun.
  LineSplitter lines_;
  Filter filter_;
  std::optional<Resume> resume_;
  StreamReader reader_;
  EventRows rows_;
  std::size_t counted_ = 0;       ///< Events of the open frame.
  std::size_t frame_events_ = 0;  ///< What the open frame holds, also what this version does not know.
  std::uint64_t living_left_ = 0;
  std::uint64_t sequence_ = 0;
  Opened opened_;
  Problem problem_;
};

}  // namespace tracer::internal
