// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"

#include <random>

namespace tracer::internal {

std::uint64_t random_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace tracer::internal
