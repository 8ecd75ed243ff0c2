// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/decoder.hpp"

#include "source/kernel/families/family.hpp"
#include "source/kernel/ring/wire_reading.hpp"
#include "wire.h"

namespace tracer::internal {

Decoder::Decoder() {
  for (const auto& family : kernel_families())
    for (const WireRecord& record : family->records()) decode_.at(record.kind) = record.decode;
}

void Decoder::feed(std::span<const std::byte> bytes, Feed& feed) noexcept try {
  records_.add(1);
  record_bytes_.add(bytes.size());
  tracer_wire_header header;
  if (!take(bytes, header) || header.size < sizeof header || header.size > bytes.size()) return malformed_.add(1);
  const auto decode = header.kind < decode_.size() ? decode_[header.kind] : nullptr;
  if (decode == nullptr) return unknown_kinds_.add(1);
  if (!decode(bytes.first(header.size), feed)) malformed_.add(1);
} catch (...) {
  out_of_memory_.add(1);
}

void Decoder::add_to(Counters& counters) const {
  counters.records += records_.value();
  counters.record_bytes += record_bytes_.value();
  const auto note = [&counters](const char* cause, const Counter& count) {
    if (count.value() != 0) counters.losses[cause] += count.value();
  };
  note("record_malformed", malformed_);
  note("record_unknown_kind", unknown_kinds_);
  note("out_of_memory", out_of_memory_);
}

std::uint64_t time_of_wire(std::span<const std::byte> bytes) noexcept {
  tracer_wire_header header;
  return take(bytes, header) ? header.time_ns : 0;
}

}  // namespace tracer::internal
