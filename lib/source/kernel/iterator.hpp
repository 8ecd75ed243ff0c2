// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

struct bpf_link;

namespace tracer::internal {

/// All that an iterator program writes in one pass; empty when there is none. Throws Error when it can't be run, as
/// that would look as if nothing lived.
std::vector<std::byte> read_iterator(const bpf_link* link);

/// Likewise, as records of one size.
template <class Record>
std::vector<Record> read_iterator_as(const bpf_link* link) {
  const std::vector<std::byte> bytes = read_iterator(link);
  std::vector<Record> records(bytes.size() / sizeof(Record));
  if (!records.empty()) std::memcpy(records.data(), bytes.data(), records.size() * sizeof(Record));
  return records;
}

}  // namespace tracer::internal
