// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/bpf.h>

#include <atomic>
#include <cstdint>

#include "wire.h"

namespace tracer::internal {

/// A hash map of bpf/common/told_apart.h, whose rows the kernel side counts by account. `Row` says which.
template <class Key, class Row>
class SharedRows {
 public:
  /// `rows_of`, `rows_of_all`: that count them.
  SharedRows(int map, std::uint32_t* rows_of, std::uint32_t& rows_of_all)
      : map_(map), rows_of_(rows_of), rows_of_all_(rows_of_all) {}

  bool find(const Key& key, Row& row) const { return ::bpf_map_lookup_elem(map_, &key, &row) == 0; }
  /// Deletes it, and makes room.
  void remove(const Key& key, std::uint32_t account) const {
    if (::bpf_map_delete_elem(map_, &key) != 0) return;
    std::atomic_ref(rows_of_[account % TRACER_ACCOUNTS]).fetch_sub(1, std::memory_order_relaxed);
    std::atomic_ref(rows_of_all_).fetch_sub(1, std::memory_order_relaxed);
  }
  void remove(const Key& key) const {
    Row row;
    if (find(key, row)) remove(key, row.account);
  }

 private:
  const int map_;
  std::uint32_t* const rows_of_;
  std::uint32_t& rows_of_all_;
};

}  // namespace tracer::internal
