// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

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

/// What `tracerd run`, `tracerd watch` and Python's tracer.session() pass as SessionOptions::tiers: the kernel, a
/// service, then /proc; or only the one that the environment variable TRACER_SOURCE names. Throws
/// Error(kInvalidArgument) for another name.
TRACER_EXPORT std::vector<Tier> tiers_to_try();
/// What they pass as SessionOptions::service_socket: that in the environment variable TRACER_SOCKET, else the default.
TRACER_EXPORT std::filesystem::path service_socket_to_try();

}  // namespace tracer
