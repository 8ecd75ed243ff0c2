// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_writer.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "stream/stream_header.hpp"

namespace tracer::internal {

StreamWriter::StreamWriter(const HostInfo& host, int level, std::optional<RecordingPlace> behind,
                           std::optional<std::uint32_t> owner_uid)
    : level_(level), owner_uid_(owner_uid), frames_(random_number(), level), place_(behind) {
  begin(host);
}

void StreamWriter::begin(const HostInfo& host) {
  Bytes header;
  StreamHeader written{.part = ++part_, .owner_uid = owner_uid_, .host = host};
  if (place_) {
    written.number = ++place_->number;
    written.previous_frames = std::exchange(place_->frames, 1);
  }
  put_header(header, written);
  put_bytes(ready_, std::as_bytes(std::span(kRecordingMagic)));
  frames_.append(ready_, header);
}

void StreamWriter::clear_ready() noexcept {
  ready_.clear();
  ready_events_ = 0;
}

void StreamWriter::begin_anew(const HostInfo& host, Bytes& end) {
  frames_.take_back();
  count_frames(-1);
  append_end(end);
  ready_.clear();
  frames_ = FrameWriter(random_number(), level_);
  begin(host);
  frames_.append(ready_, payload_, least_bytes_);
  count_frames(1);
}

std::size_t StreamWriter::drop() {
  const std::size_t events = ready_events_ + encoder_.events();
  clear_ready();
  frames_.take_back();
  count_frames(-1);
  encoder_ = FrameEncoder();
  charged_bytes_ = 0;
  return events;
}

void StreamWriter::append(const Event& event) {
  if (event.charge_bytes() > FrameEncoder::kMaxEventBytes) return append(FrameEncoder::fitting(event));
  if (!encoder_.has_room() || charged_bytes_ + event.charge_bytes() > kMaxChargeBytes / 2) close_frame();
  charged_bytes_ += event.charge_bytes();
  encoder_.append(event);
}

void StreamWriter::append_end(Bytes& out) {
  Bytes nothing;
  FrameEncoder().close(nothing, clock());
  frames_.append(out, nothing);
}

void StreamWriter::set_clock(const ClockUpdate& clock) {
  if (clock_ && clock_->wall_offset_ns != clock.wall_offset_ns) close_frame();
  clock_ = clock;
}

void StreamWriter::close_frame() {
  if (encoder_.empty()) return;
  ready_events_ += encoder_.events();
  payload_.clear();
  least_bytes_ = encoder_.least_stored_bytes(charged_bytes_);
  charged_bytes_ = 0;
  encoder_.close(payload_, clock());
  frames_.append(ready_, payload_, least_bytes_);
  count_frames(1);
}

}  // namespace tracer::internal
