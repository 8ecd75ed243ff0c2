// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_writer.hpp"

#include <random>

#include "stream/stream_header.hpp"

namespace tracer::internal {
namespace {

std::uint64_t random_id() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

StreamWriter::StreamWriter(const HostInfo& host) : frames_(random_id()) {
  put_bytes(ready_, std::as_bytes(std::span(kRecordingMagic)));
  put_header(payload_, {.schema = kStreamSchema, .host = host});
  frames_.append(ready_, payload_);
}

void StreamWriter::append(const Event& event) {
  if (event.charge_bytes() > FrameEncoder::kMaxEventBytes) return append(FrameEncoder::fitting(event));
  if (!encoder_.has_room() || charged_bytes_ + event.charge_bytes() > kMaxChargeBytes / 2) close_frame();
  charged_bytes_ += event.charge_bytes();
  encoder_.append(event);
}

void StreamWriter::close_frame() {
  if (encoder_.empty()) return;
  charged_bytes_ = 0;
  payload_.clear();
  encoder_.close(payload_, ClockUpdate::now());
  frames_.append(ready_, payload_);
}

}  // namespace tracer::internal
