// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/sink.hpp>

namespace tracer::internal {

/// The events of the last whole frame of a recording that has any; a cut or damaged end is passed over. Empty: there is
/// none in its last MiBs, or no such file.
std::vector<Event> last_events(const std::filesystem::path& recording);

/// Where the recording of a session stands by its last file; nowhere, if that is of another session.
RecordingPlace last_place(const std::filesystem::path& recording, std::string_view session_id);

/// Where the events go on behind all of those of `last` that are among them. Absent: none is.
std::optional<std::size_t> find_behind(std::span<const Event> events, std::span<const Event> last);

}  // namespace tracer::internal
