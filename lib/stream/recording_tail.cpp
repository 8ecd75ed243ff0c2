// SPDX-License-Identifier: Apache-2.0
#include "stream/recording_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <tracer/error.hpp>

#include "base/unique_fd.hpp"
#include "stream/column_frame.hpp"
#include "stream/event_rows.hpp"
#include "stream/frame.hpp"
#include "stream/recording_file.hpp"

namespace tracer::internal {

namespace {

/// Calls take(frame) for the frames in the last MiBs of a recording; a cut or damaged end is passed over.
template <class Take>
void for_last_frames(const std::filesystem::path& recording, Take take) {
  constexpr off_t kMostBytes = 4 * static_cast<off_t>(kMaxFrameBytes);
  const UniqueFd file(::open(recording.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  Bytes bytes(static_cast<std::size_t>(std::min(status.st_size, kMostBytes)));
  const ssize_t got =
      ::pread(file.get(), bytes.data(), bytes.size(), status.st_size - static_cast<off_t>(bytes.size()));
  if (got <= 0) return;
  FrameFinder frames;
  frames.feed(std::span(bytes).first(static_cast<std::size_t>(got)));
  frames.end();
  while (const auto frame = frames.next()) take(*frame);
}

}  // namespace

std::vector<Event> last_events(const std::filesystem::path& recording) {
  std::vector<Event> events;
  ColumnFrame columns;
  for_last_frames(recording, [&](const Frame& frame) {
    // The header of a stream is no frame of events.
    if (frame.header.sequence == 0 || !columns.decode(frame.payload) || columns.rows() == 0) return;
    events.clear();
    EventRows rows;
    rows.open(columns);
    for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next())
      events.push_back(std::move(event));
  });
  return events;
}

RecordingPlace last_place(const std::filesystem::path& recording, std::string_view session_id) {
  try {
    const RecordingFile file(recording);
    if (file.host().session_id != session_id) return {};
    RecordingPlace place{file.header().number, 1};
    for_last_frames(recording, [&](const Frame& frame) {
      if (frame.header.stream == file.stream()) place.frames = std::max(place.frames, frame.header.sequence + 1);
    });
    return place;
  } catch (const Error&) {
    return {};
  }
}

std::optional<std::size_t> find_behind(std::span<const Event> events, std::span<const Event> last) {
  const auto place = [](const Event& event) { return std::pair(event.kind(), event.time_ns()); };
  std::set<std::pair<EventKind, std::uint64_t>> places;
  std::set<std::string> texts;
  for (const Event& event : last) {
    places.insert(place(event));
    texts.insert(to_json(event));
  }
  for (std::size_t at = events.size(); at-- > 0;)
    if (places.contains(place(events[at])) && texts.contains(to_json(events[at]))) return at + 1;
  return std::nullopt;
}

}  // namespace tracer::internal
