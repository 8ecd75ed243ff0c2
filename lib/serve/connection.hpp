// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "protocol/line_splitter.hpp"
#include "serve/charges.hpp"
#include "serve/outbox.hpp"
#include "serve/sight.hpp"
#include "session/reader.hpp"

namespace tracer::internal {

/// One client. It has one request at a time, and a next one is not read before its reply is written: what a client
/// holds of the service is bounded by that.
struct Connection {
  using Clock = std::chrono::steady_clock;

  Connection(std::uint64_t number, UniqueFd socket_fd, Peer whose, Sight what, Charges& charges)
      : id(number),
        socket(std::move(socket_fd)),
        peer(std::move(whose)),
        sight(std::move(what)),
        input(charges, peer.uid),
        output(charges, peer.uid),
        subscription(charges, peer.uid) {}

  const std::uint64_t id;
  const UniqueFd socket;
  const Peer peer;
  const Sight sight;
  LineSplitter lines;
  ByteCharge input;
  ByteCharge output;
  ByteCharge subscription;
  std::string reply;
  std::size_t reply_at = 0;
  std::vector<UniqueFd> passed = {};  ///< With the first byte of the reply.
  bool busy = false;                  ///< A request is with the workers.
  bool only_asks = false;  ///< The present request changes nothing: without a reader of its reply, it is in vain.
  bool gone = false;       ///< Its other end is closed.
  /// The same for other threads.
  const std::shared_ptr<std::atomic<bool>> left = std::make_shared<std::atomic<bool>>(false);
  bool ended = false;    ///< It sends nothing more.
  bool closing = false;  ///< When the reply is written.
  Clock::time_point progress = Clock::now();
  std::map<std::uint64_t, Reader::OpenLabel> labels;
  std::unique_ptr<Outbox> stream;
  std::uint32_t watched = 0;  ///< What epoll waits for.

  bool has_reply() const noexcept { return reply_at < reply.size(); }
  bool may_read() const noexcept { return !busy && !has_reply() && !closing && !ended; }
};

}  // namespace tracer::internal
