// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tracer::internal {

/// `path` is `folder`, or lies in it. Both are absolute, without a slash at their end.
inline bool is_below(std::string_view path, std::string_view folder) noexcept {
  return path.starts_with(folder) && (path.size() == folder.size() || folder == "/" || path[folder.size()] == '/');
}

}  // namespace tracer::internal
