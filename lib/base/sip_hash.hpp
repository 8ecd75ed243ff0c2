// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tracer::internal {

struct SipKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// SipHash-2-4. Without the key, nobody can try out which text has a hash.
std::uint64_t sip_hash(const SipKey& key, std::string_view text) noexcept;

}  // namespace tracer::internal
