// SPDX-License-Identifier: Apache-2.0
/// Reads hash maps to which the kernel adds meanwhile.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace tracer::internal {

/// Those that were in the map all the time, and each once. What changes it meanwhile may send the walk back to its
/// begin.
template <class Key>
std::vector<Key> keys_of(const bpf_map& map) {
  const int fd = ::bpf_map__fd(&map);
  std::set<std::array<std::byte, sizeof(Key)>> seen;
  std::vector<Key> keys;
  Key key{};
  const Key* last = nullptr;
  for (std::uint32_t left = 2 * ::bpf_map__max_entries(&map); left != 0; --left) {
    Key next{};
    if (::bpf_map_get_next_key(fd, last, &next) != 0) break;
    std::array<std::byte, sizeof(Key)> bytes;
    std::memcpy(bytes.data(), &next, sizeof next);
    if (seen.insert(bytes).second) keys.push_back(next);
    key = next;
    last = &key;
  }
  return keys;
}

/// What is added between the two calls of kernels before 5.14, which do not have both in one, is lost.
template <class Key, class Value>
bool take_value(int map, const Key& key, Value& value) {
  if (::bpf_map_lookup_and_delete_elem(map, &key, &value) == 0) return true;
  if (errno == ENOENT) return false;
  return ::bpf_map_lookup_elem(map, &key, &value) == 0 && ::bpf_map_delete_elem(map, &key) == 0;
}

}  // namespace tracer::internal
