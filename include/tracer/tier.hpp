// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <tracer/export.hpp>

namespace tracer {

/// Where a session's events come from, the most exact first.
enum class Tier : std::uint8_t {
  kKernel,     ///< This machine's kernel, by BPF programs of the session's own: exact. Needs rights.
  kService,    ///< A running `tracerd serve`: exact, and only what the caller may see. Needs no rights.
  kProc,       ///< /proc, looked at again and again: what lived too shortly is missing. Needs no rights.
  kRecording,  ///< A recording, or another source of events.
};

/// "kernel", "service", "proc", "recording". Empty for an unknown value.
TRACER_EXPORT std::string_view to_string(Tier tier) noexcept;
/// Absent for any other text.
TRACER_EXPORT std::optional<Tier> tier_from_name(std::string_view name) noexcept;

}  // namespace tracer
