// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

struct bpf_link;

namespace tracer::internal {

/// Takes records, whose number is as many as fit into what the kernel hands out at a time. They are valid during the
/// call.
using TakeBytes = std::function<void(std::span<const std::byte>)>;

/// All that an iterator program writes in one pass, in chunks of whole records of this size, at once as they come; none
/// when there is no such program. Throws Error when it can't be run, as that would look as if nothing lived; and what
/// `take` throws.
void read_iterator(const bpf_link* link, std::size_t record_bytes, const TakeBytes& take);

/// Likewise, as records.
template <class Record, class Take>
void read_iterator_as(const bpf_link* link, const Take& take) {
  std::vector<Record> records;
  read_iterator(link, sizeof(Record), [&](std::span<const std::byte> bytes) {
    records.resize(bytes.size() / sizeof(Record));
    std::memcpy(records.data(), bytes.data(), records.size() * sizeof(Record));
    take(std::span<const Record>(records));
  });
}

}  // namespace tracer::internal
