// SPDX-License-Identifier: Apache-2.0
#include "serve/outbox.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace tracer::internal {

Outbox::Outbox(const HostInfo& host, Charges& charges, uid_t uid, std::size_t capacity_bytes)
    : host_(host),
      charges_(charges),
      uid_(uid),
      capacity_bytes_(capacity_bytes),
      stream_(random_number()),
      charge_(charges, uid),
      head_(stream_head(host, stream_)) {}

void Outbox::drop_oldest() {
  // What has begun must be finished: the reader of a stream can't be told of half a frame.
  const auto oldest = frames_.begin() + (began() ? 1 : 0);
  const EventFrame& frame = **oldest;
  note_dropped(frame);
  charge_.set(charge_.bytes() - frame.charge_bytes());
  frames_.erase(oldest);
}

void Outbox::note_dropped(const EventFrame& frame) {
  Gap& gap = frame.first == 0 ? living_gap_ : gap_;
  if (gap.by_kind.empty()) gap.first_ns = frame.first_ns;
  gap.last_ns = frame.last_ns;
  for (const auto& [kind, count] : frame.by_kind) gap.by_kind[kind] += count;
  dropped_ += frame.events;
  charges_.note_dropped(uid_, frame.events);
}

void Outbox::push(SharedFrame frame) {
  const std::size_t bytes = frame->charge_bytes();
  const auto has_droppable = [this] { return frames_.size() > (began() ? 1u : 0u); };
  while (has_droppable() && charge_.bytes() + bytes > capacity_bytes_) drop_oldest();
  while (!charge_.set(charge_.bytes() + bytes)) {
    if (!has_droppable()) {
      // Other clients of the same user hold all that it may hold: this one is lost, too.
      return note_dropped(*frame);
    }
    drop_oldest();
  }
  frames_.push_back(std::move(frame));
}

void Outbox::fill_gap() {
  std::vector<SharedFrame> made;
  FrameMaker maker(host_);
  const auto append = [&](Gap& gap, const char* cause) {
    if (gap.by_kind.empty()) return;
    Loss loss;
    loss.time_ns = loss.last_ns.emplace(gap.last_ns);
    loss.cause = cause;
    loss.first_ns = gap.first_ns;
    for (const auto& [kind, count] : gap.by_kind) {
      loss.by_kind.push_back({kind, count});
      loss.count += count;
    }
    gap = {};
    maker.append(loss, 0, made);
  };
  append(living_gap_, "living_dropped");
  append(gap_, "queue_full");
  maker.close(made);
  // A few hundred bytes that are not charged: they must have room.
  charge_.set(charge_.bytes() + made.front()->charge_bytes());
  frames_.push_front(std::move(made.front()));
}

Outbox::Written Outbox::write(int socket, Clock::time_point now) {
  const auto put = [&](std::array<iovec, 2> parts, std::size_t count) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    ssize_t wrote = 0;
    do {
      wrote = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (wrote < 0 && errno == EINTR);
    if (wrote > 0) progress_ = now;
    return wrote;
  };
  while (!empty()) {
    if (!head_.empty()) {
      const ssize_t wrote = put({iovec{head_.data() + head_at_, head_.size() - head_at_}}, 1);
      if (wrote < 0) return errno == EAGAIN ? Written::kSome : Written::kFailed;
      head_at_ += static_cast<std::size_t>(wrote);
      if (head_at_ == head_.size()) head_ = {};
      continue;
    }
    if (!began()) {
      if (has_gap()) fill_gap();
      header_ = frame_header(frames_.front()->bytes, stream_, sequence_);
      // A Loss that was dropped would take along what it counts.
      began_ = true;
    }
    const EventFrame& frame = *frames_.front();
    auto* const stored = const_cast<std::byte*>(frame.bytes.stored.data());
    const std::size_t size = frame.bytes.stored.size();
    const ssize_t wrote =
        at_ < kFrameHeaderBytes
            ? put({iovec{header_.data() + at_, kFrameHeaderBytes - at_}, iovec{stored, size}}, 2)
            : put({iovec{stored + (at_ - kFrameHeaderBytes), size - (at_ - kFrameHeaderBytes)}, iovec{}}, 1);
    if (wrote < 0) return errno == EAGAIN ? Written::kSome : Written::kFailed;
    at_ += static_cast<std::size_t>(wrote);
    if (at_ < kFrameHeaderBytes + size) continue;
    at_ = 0;
    began_ = false;
    ++sequence_;
    charge_.set(charge_.bytes() - std::min(charge_.bytes(), frame.charge_bytes()));
    frames_.pop_front();
  }
  return Written::kAll;
}

}  // namespace tracer::internal
