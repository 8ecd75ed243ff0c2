// SPDX-License-Identifier: Apache-2.0
/// Where a process belongs, as far as somebody has said so.
#pragma once

#include <compare>
#include <optional>
#include <string>

namespace tracer {

/// The labels of a process tree. Inherited in the kernel from parent to child; a label that nobody gave is absent.
struct Context {
  std::optional<std::string> pipeline = std::nullopt;
  std::optional<std::string> run = std::nullopt;
  std::optional<std::string> step = std::nullopt;
  std::optional<std::string> sample = std::nullopt;

  auto operator<=>(const Context&) const = default;
};

}  // namespace tracer
