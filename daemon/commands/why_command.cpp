// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <tracer/event.hpp>
#include <tracer/recording.hpp>

#include "command_line/nearest_name.hpp"
#include "commands/commands.hpp"
#include "files/asked_words.hpp"
#include "files/recordings.hpp"
#include "insight/recorded_events.hpp"
#include "process/privileges.hpp"
#include "report/subjects.hpp"
#include "show/printable.hpp"
#include "show/screen.hpp"
#include "show/why_text.hpp"
#include "terminal/color.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

using tracer::internal::Subject;
using tracer::internal::Subjects;

constexpr int kUnknownSubject = 1;
constexpr int kAmbiguousSubject = 2;
constexpr std::size_t kMostAskedWidth = 80;
constexpr std::size_t kMostTools = 50;

/// `tools`: names, as they are printed.
void add_all(Subjects& subjects, std::set<std::string>& tools, tracer::RecordingReader& reader) {
  tracer::internal::RecordedEvents events(reader);
  while (const auto event = events.next()) {
    subjects.add(*event);
    if (const auto* exit = event->get_if<tracer::ProcessExit>(); exit != nullptr && tools.size() < kMostTools)
      tools.insert(tracer::internal::printable(exit->tool(), kMostAskedWidth));
  }
  subjects.finish(reader.damage());
}

std::vector<Subject> all_of(const Subjects& subjects) {
  std::vector<Subject> all;
  for (const auto* run : subjects.runs()) all.push_back({run, nullptr});
  for (const auto* task : subjects.tasks()) all.push_back({task, nullptr});
  return all;
}

/// Several processes that had one pid, one after the other, are all shown.
bool is_ambiguous(const std::vector<Subject>& found) {
  return found.size() > 1 &&
         (found.front().scope != nullptr || found.front().process->process->pid != found.back().process->process->pid);
}

int refuse_several(const std::vector<Subject>& found, const std::string& asked) {
  say("tracerd: '{}' is ambiguous; use one of these keys:\n{}", tracer::internal::printable(asked, kMostAskedWidth),
      list_of_subjects(found));
  return kAmbiguousSubject;
}

int refuse_unknown(const std::vector<Subject>& all, const std::set<std::string>& tools, const std::string& asked) {
  std::vector<std::string> names(tools.begin(), tools.end());
  for (const std::string& tool : tools) names.push_back(tool.substr(0, tool.find(' ')));
  for (const Subject& each : all)
    names.push_back(tracer::internal::printable(name_of_scope(*each.scope), kMostAskedWidth));
  say("tracerd: the recording has no task, run, process or tool '{}'{}\n",
      tracer::internal::printable(asked, kMostAskedWidth), did_you_mean(asked, names));
  if (!all.empty()) say("it has:\n{}", list_of_subjects(all));
  if (!tools.empty()) say("tools: {}\n", fmt::join(tools, ", "));
  return kUnknownSubject;
}

}  // namespace

int why_command(const Options& options) {
  const AskedWords words = asked_words(options.files);
  std::vector<tracer::RecordingReader> readers = open_recordings(words.files);
  become_reader();
  const std::string asked = words.asked.value_or("");
  std::vector<std::unique_ptr<Subjects>> all;
  std::set<std::string> tools;
  std::string text;
  for (tracer::RecordingReader& reader : readers) {
    const Subjects& subjects = *all.emplace_back(std::make_unique<Subjects>(asked));
    add_all(*all.back(), tools, reader);
    report_damage({&reader, 1});
    if (subjects.left_out() != 0)
      say("tracerd: only the first {} runs and tasks were looked at\n", Subjects::kMostScopes);
    const tracer::internal::WhyOptions look{reader.host().wall_offset_ns,
                                            tracer::internal::terminal_columns(STDOUT_FILENO)};
    std::string of_host;
    if (!words.asked) {
      of_host = options.as_json ? tracer::internal::to_json(subjects) + '\n' : why_text(subjects, look);
    } else {
      const std::vector<Subject> found = subjects.find(asked);
      if (is_ambiguous(found)) return refuse_several(found, asked);
      for (const Subject& each : found)
        of_host += options.as_json ? to_json(subjects, each) + '\n'
                                   : (of_host.empty() ? "" : "\n") + why_text(subjects, each, look);
    }
    if (of_host.empty()) continue;
    if (readers.size() > 1 && !options.as_json)
      text += fmt::format("{}on {}:\n", text.empty() ? "" : "\n", tracer::internal::printable(reader.host().host_name));
    text += of_host;
  }
  if (text.empty() && words.asked) {
    std::vector<Subject> there;
    for (const auto& subjects : all)
      for (const Subject& each : all_of(*subjects)) there.push_back(each);
    return refuse_unknown(there, tools, asked);
  }
  write_text(STDOUT_FILENO, options.as_json ? text : colored(STDOUT_FILENO, text), "standard output",
             [] { return true; });
  return 0;
}

}  // namespace tracerd
