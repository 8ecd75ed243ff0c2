// SPDX-License-Identifier: Apache-2.0
/// Streams and frames put together by hand, for what no writer writes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "stream/column_layout.hpp"
#include "stream/frame.hpp"
#include "stream/number_array.hpp"
#include "stream/stream_header.hpp"

namespace stream_bytes {

using tracer::internal::Bytes;
using Numbers = std::vector<std::uint64_t>;

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The magic number and the header; then add().
class Stream {
 public:
  explicit Stream(const tracer::internal::StreamHeader& header = {}, std::uint64_t id = 42) : frames_(id) {
    Bytes payload;
    tracer::internal::put_header(payload, header);
    add(payload);
  }
  static Stream beginning_with(std::span<const std::byte> header_payload) {
    Stream stream{Empty()};
    stream.add(header_payload);
    return stream;
  }
  void add(std::span<const std::byte> payload) { frames_.append(bytes_, payload); }
  /// A number that no frame has.
  void leave_out() {
    Bytes unused;
    frames_.append(unused, {});
  }
  const Bytes& bytes() const noexcept { return bytes_; }

 private:
  struct Empty {};
  explicit Stream(Empty) : frames_(42) {}

  tracer::internal::FrameWriter frames_;
  Bytes bytes_ = bytes_of(tracer::internal::kRecordingMagic);
};

struct Column {
  std::vector<std::uint8_t> path;
  Bytes body;
};

/// Present in all rows.
inline Column column(std::vector<std::uint8_t> path, const Numbers& values, const Numbers& items = {}) {
  Column made{std::move(path), {}};
  tracer::internal::put_varint(made.body, 0);
  tracer::internal::put_numbers(made.body, values);
  tracer::internal::put_numbers(made.body, items);
  return made;
}

struct Section {
  std::uint64_t number = 0;  ///< Of a kind or part.
  std::uint64_t rows = 0;
  std::vector<Column> columns = {};
};

inline void put(Bytes& out, const std::vector<Section>& sections) {
  tracer::internal::put_varint(out, sections.size());
  for (const Section& section : sections) {
    tracer::internal::put_varint(out, section.number);
    tracer::internal::put_varint(out, section.rows);
    tracer::internal::put_varint(out, section.columns.size());
    for (const Column& each : section.columns) {
      for (const std::uint8_t number : each.path) out.push_back(static_cast<std::byte>(number));
      out.push_back(std::byte{0});
      tracer::internal::put_varint(out, each.body.size());
      tracer::internal::put_bytes(out, each.body);
    }
  }
}

/// The payload of a frame.
struct Payload {
  std::vector<std::string> texts = {};
  std::vector<Section> parts = {};
  std::vector<Section> kinds = {};
  std::vector<std::uint8_t> order = {};

  operator Bytes() const {
    Bytes out(16);
    Numbers sizes;
    for (const std::string& text : texts) sizes.push_back(text.size());
    tracer::internal::put_varint(out, sizes.size());
    tracer::internal::put_numbers(out, sizes);
    for (const std::string& text : texts) tracer::internal::put_bytes(out, bytes_of(text));
    put(out, parts);
    put(out, kinds);
    for (const std::uint8_t section : order) out.push_back(static_cast<std::byte>(section));
    return out;
  }
};

}  // namespace stream_bytes
