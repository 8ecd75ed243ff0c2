// SPDX-License-Identifier: Apache-2.0
#include <tracer/answers.hpp>

#include <tracer/recording.hpp>

#include "insight/recorded_events.hpp"
#include "report/json/over_time_json.hpp"
#include "report/subjects.hpp"
#include "report/sums/over_time.hpp"

namespace tracer {
std::optional<std::string> why_json(RecordingReader& reader, std::string_view asked) {
  internal::Subjects subjects(asked);
  internal::RecordedEvents events(reader);
  while (const auto event = events.next()) subjects.add(*event);
  subjects.finish(reader.damage());
  if (asked.empty()) return internal::to_json(subjects);
  const auto found = subjects.find(asked);
  if (found.size() != 1) return std::nullopt;
  return internal::to_json(subjects, found.front());
}

std::optional<std::string> over_time_json(RecordingReader& reader, Key key) {
  internal::OverTime over_time(key);
  internal::RecordedEvents events(reader);
  while (const auto event = events.next()) over_time.add(*event);
  const internal::ResourcesOverTime sums = over_time.sums();
  if (sums.rows.empty()) return std::nullopt;
  return internal::to_json(sums, reader.host());
}

}  // namespace tracer
