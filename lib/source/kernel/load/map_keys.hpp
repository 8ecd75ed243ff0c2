// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/bpf.h>

#include <cstddef>
#include <vector>

namespace tracer::internal {

/// Those of a hash map's keys of which `wanted` says so. What is added meanwhile may be missing.
template <class Key, class Wanted>
std::vector<Key> keys_of(int map, const Wanted& wanted) {
  // A walk that goes on behind a key that is gone begins anew.
  std::vector<Key> keys;
  Key key{};
  for (const Key* before = nullptr; ::bpf_map_get_next_key(map, before, &key) == 0; before = &key)
    if (wanted(key)) keys.push_back(key);
  return keys;
}

}  // namespace tracer::internal
