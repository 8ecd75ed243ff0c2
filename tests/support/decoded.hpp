// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "source/kernel/ring/decoder.hpp"

namespace collect {

/// What the decoder makes of one wire record; absent: it has refused it.
inline std::optional<tracer::internal::Record> decoded(tracer::internal::Decoder& decoder,
                                                       std::span<const std::byte> bytes) {
  struct Kept final : tracer::internal::Feed {
    void record(const tracer::internal::Record& record) override { kept = record; }
    void event(tracer::Event) override {}
    void snapshot_end(std::uint64_t) override {}
    std::optional<tracer::internal::Record> kept;
  } feed;
  decoder.feed(bytes, feed);
  return feed.kept;
}

}  // namespace collect
