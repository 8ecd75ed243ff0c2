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

#include "base/unique_fd.hpp"
#include "stream/column_frame.hpp"
#include "stream/event_rows.hpp"
#include "stream/frame.hpp"

namespace tracer::internal {

std::vector<Event> last_events(const std::filesystem::path& recording) {
  constexpr off_t kMostBytes = 4 * static_cast<off_t>(kMaxFrameBytes);
  std::vector<Event> events;
  const UniqueFd file(::open(recording.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return events;
  Bytes bytes(static_cast<std::size_t>(std::min(status.st_size, kMostBytes)));
  const ssize_t got =
      ::pread(file.get(), bytes.data(), bytes.size(), status.st_size - static_cast<off_t>(bytes.size()));
  if (got <= 0) return events;
  FrameFinder frames;
  frames.feed(std::span(bytes).first(static_cast<std::size_t>(got)));
  frames.end();
  ColumnFrame columns;
  while (const auto frame = frames.next()) {
    // The header of a stream is no frame of events.
    if (frame->header.sequence == 0 || !columns.decode(frame->payload) || columns.rows() == 0) continue;
    events.clear();
    EventRows rows;
    rows.open(columns);
    for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next())
      events.push_back(std::move(event));
  }
  return events;
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
