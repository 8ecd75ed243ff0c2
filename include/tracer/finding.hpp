// SPDX-License-Identifier: Apache-2.0
/// What the library concludes from other events: a sentence, and the figures that it rests on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event_kind.hpp>
#include <tracer/key.hpp>
#include <tracer/process.hpp>

namespace tracer {

/// A figure or a text that a finding rests on.
struct Evidence {
  std::string name;                         ///< "limit_bytes", "disk_ns", "allocator" …
  std::optional<std::uint64_t> value = {};  ///< Absent if it is a text.
  std::optional<std::string> unit = {};     ///< "ns", "bytes", "count", "percent", "bytes/s". Absent: a plain number.
  std::optional<std::string> text = {};     ///< Absent if it is a figure.

  bool operator==(const Evidence&) const = default;
};

/// Something failed, is slow, stands still or is not normal. docs/findings.md says how each code is decided. A finding
/// is reported when it opens, again when it has changed, and once when it is closed: the last one with its finding_key
/// counts.
struct Finding {
  static constexpr EventKind kKind = EventKind::kFinding;
  std::uint64_t time_ns = 0;  ///< When it was reported.
  Key finding_key = {};       ///< The same in all reports of it.
  std::string code;           ///< "silent_failure", "disk_wait" …
  std::string severity;       ///< "error", "warning" or "note".
  std::string confidence;     ///< "high", "medium" or "low".
  std::string subject;        ///< What it is about: "process", "task", "step", "run" or "host".
  std::string state;          ///< "open" or "closed": it is over, or will not change anymore.
  std::shared_ptr<const Context> context = Process::no_context();  ///< Of the subject; never null.
  std::optional<std::uint32_t> pid = {};       ///< The process that it is about, or that shows it best.
  std::optional<std::uint64_t> start_ns = {};  ///< With pid, the identity of that process.
  std::optional<std::string> tool = {};        ///< Of that process.
  std::uint64_t first_ns = 0;                  ///< Since when it holds.
  std::uint64_t last_ns = 0;                   ///< Until when it was seen.
  std::uint64_t count = 1;                     ///< How often it happened.
  std::string text;                            ///< One sentence: the subject, and what happened.
  std::string advice;                          ///< What to try. Empty: nothing sensible.
  std::vector<Evidence> evidence = {};
};

}  // namespace tracer
