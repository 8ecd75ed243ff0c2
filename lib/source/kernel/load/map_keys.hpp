// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/bpf.h>

#include <cstddef>
#include <vector>

namespace tracer::internal {

/// Deletes those of a hash map's keys of which `unwanted` says so. What is added meanwhile may stay.
template <class Key, class Unwanted>
void delete_keys(int map, const Unwanted& unwanted) {
  // A walk that goes on behind a key that is gone begins anew.
  std::vector<Key> keys;
  Key key{};
  for (const Key* before = nullptr; ::bpf_map_get_next_key(map, before, &key) == 0; before = &key)
    if (unwanted(key)) keys.push_back(key);
  for (const Key& each : keys) ::bpf_map_delete_elem(map, &each);
}

}  // namespace tracer::internal
