// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include <tracer/recording.hpp>

#include "commands/commands.hpp"
#include "files/asked_words.hpp"
#include "files/recordings.hpp"
#include "insight/recorded_events.hpp"
#include "process/privileges.hpp"
#include "report/subjects.hpp"
#include "show/printable.hpp"
#include "show/screen.hpp"
#include "show/why_text.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

using tracer::internal::Subject;
using tracer::internal::Subjects;

constexpr int kUnknownSubject = 1;
constexpr int kAmbiguousSubject = 2;
constexpr std::size_t kMostAskedWidth = 80;

void add_all(Subjects& subjects, tracer::RecordingReader& reader) {
  tracer::internal::RecordedEvents events(reader);
  while (const auto event = events.next()) subjects.add(*event);
  subjects.finish();
}

std::vector<Subject> all_of(const Subjects& subjects) {
  std::vector<Subject> all;
  for (const auto* run : subjects.runs()) all.push_back({run, nullptr});
  for (const auto* task : subjects.tasks()) all.push_back({task, nullptr});
  return all;
}

/// Several processes that had one pid, one after the other, are all shown.
bool is_ambiguous(const std::vector<Subject>& found) { return found.size() > 1 && found.front().scope != nullptr; }

int refuse_subject(const Subjects& subjects, const std::vector<Subject>& found, const std::string& asked) {
  const std::string shown = tracer::internal::printable(asked, kMostAskedWidth);
  if (!found.empty()) {
    say("tracerd: '{}' may be one of these: ask by the first word of its line\n{}", shown, list_of_subjects(found));
    return kAmbiguousSubject;
  }
  say("tracerd: the recording has no task, run or process '{}'\n", shown);
  if (const auto all = all_of(subjects); !all.empty()) say("it has:\n{}", list_of_subjects(all));
  return kUnknownSubject;
}

}  // namespace

int why_command(const Options& options) {
  const AskedWords words = asked_words(options.files);
  tracer::RecordingReader reader = open_recording(words.files);
  become_reader();
  const std::string asked = words.asked.value_or("");
  Subjects subjects(asked);
  add_all(subjects, reader);
  report_damage({&reader, 1});
  if (subjects.left_out() != 0)
    say("tracerd: only the first {} runs and tasks were looked at\n", Subjects::kMostScopes);
  const tracer::internal::WhyOptions look{reader.host().wall_offset_ns,
                                          tracer::internal::terminal_columns(STDOUT_FILENO)};
  std::string text;
  if (!words.asked) {
    text = options.as_json ? tracer::internal::to_json(subjects) + '\n' : why_text(subjects, look);
  } else {
    const std::vector<Subject> found = subjects.find(asked);
    if (found.empty() || is_ambiguous(found)) return refuse_subject(subjects, found, asked);
    for (const Subject& each : found)
      text += options.as_json ? to_json(subjects, each) + '\n'
                              : (text.empty() ? "" : "\n") + why_text(subjects, each, look);
  }
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
