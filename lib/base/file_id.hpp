// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

#include <tracer/event.hpp>

namespace tracer::internal {

/// A file of one host: device, inode and generation. Those that are not known are 0.
using FileId = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;

inline FileId file_id(const FileUse& use) {
  return {use.device.value_or(0), use.inode.value_or(0), use.generation.value_or(0)};
}

}  // namespace tracer::internal
