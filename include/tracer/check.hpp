// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/export.hpp>
#include <tracer/families.hpp>

namespace tracer {

/// One thing that libtracer needs or can use, and whether this machine has it.
struct CheckItem {
  std::string name;  ///< "capability CAP_BPF", "tracepoint sched_prepare_exec" …
  bool required = true;
  bool available = false;
  std::string effect;              ///< What it enables, or which fields are null without it.
  std::optional<Problem> problem;  ///< Present if it is not available.
};

/// What this machine and this process allow.
struct CheckReport {
  std::vector<CheckItem> items;
  std::vector<FamilyState> families;  ///< Their state after loading; empty: a required item is missing.

  bool usable() const noexcept {
    for (const CheckItem& item : items)
      if (item.required && !item.available) return false;
    return true;
  }
  /// The problems of required items that are missing.
  std::vector<Problem> problems() const {
    std::vector<Problem> all;
    for (const CheckItem& item : items)
      if (item.required && item.problem) all.push_back(*item.problem);
    return all;
  }
};

/// Loads and attaches the programs for a moment, as a session does, and removes them again. Follows no process.
TRACER_EXPORT CheckReport check();

/// Checks a file of your own rules for engines (SessionOptions::engine_rules), and tries its examples. Throws Error
/// with all mistakes, each with its line: kInvalidRules, kFileUnreadable.
TRACER_EXPORT void check_engine_rules(const std::filesystem::path& file);

}  // namespace tracer
