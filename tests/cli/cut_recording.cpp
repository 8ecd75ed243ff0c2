// SPDX-License-Identifier: Apache-2.0
/// cut_recording FROM FOLDER SECONDS [living]: the recording as a session would have cut it into files, by the times of
/// its events; with "living", each file begins with what lives, as those of a service do.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/process_id.hpp"
#include "stream/recording_file.hpp"
#include "stream/stream_writer.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

/// What has started and not ended, as it is now.
class Living {
 public:
  void follow(const Event& event) {
    if (const auto* start = event.get_if<ProcessStart>()) {
      processes_.insert_or_assign(id_of(*start->process), *start);
    } else if (const auto* exec = event.get_if<ProcessExec>()) {
      const auto found = processes_.find(id_of(*exec->process));
      if (found != processes_.end()) found->second.process = exec->process;
    } else if (const auto* exit = event.get_if<ProcessExit>()) {
      processes_.erase(id_of(*exit->process));
    } else if (const auto* run = event.get_if<RunStart>()) {
      runs_.insert_or_assign(number(run->context->run_key), *run);
    } else if (const auto* task = event.get_if<TaskStart>()) {
      tasks_.insert_or_assign(number(task->context->task_key), *task);
    } else if (const auto* run_end = event.get_if<RunFinish>()) {
      runs_.erase(number(run_end->context->run_key));
    } else if (const auto* task_end = event.get_if<TaskFinish>()) {
      tasks_.erase(number(task_end->context->task_key));
    } else if (const auto* change = event.get_if<ContextChange>()) {
      rename(runs_, change->old_run_key, change->after->run_key, change->after);
      rename(tasks_, change->old_task_key, change->after->task_key, change->after);
    }
  }
  void write(StreamWriter& writer) const {
    for (const auto& [key, run] : runs_) writer.append(Event(run));
    for (const auto& [key, task] : tasks_) writer.append(Event(task));
    for (const auto& [id, process] : processes_) writer.append(Event(process));
  }

 private:
  static std::uint64_t number(const std::optional<Key>& key) { return key ? static_cast<std::uint64_t>(*key) : 0; }
  template <class Start>
  static void rename(std::map<std::uint64_t, Start>& starts, const std::optional<Key>& before,
                     const std::optional<Key>& after, const std::shared_ptr<const Context>& context) {
    auto node = before ? starts.extract(number(before)) : typename std::map<std::uint64_t, Start>::node_type();
    if (!node) return;
    node.key() = number(after);
    node.mapped().context = context;
    starts.insert(std::move(node));
  }

  std::map<ProcessId, ProcessStart> processes_;
  std::map<std::uint64_t, RunStart> runs_;
  std::map<std::uint64_t, TaskStart> tasks_;
};

class Files {
 public:
  Files(const HostInfo& host, std::filesystem::path folder) : host_(host), folder_(std::move(folder)) { begin(); }
  ~Files() { end(); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  StreamWriter& writer() { return *writer_; }
  void cut() {
    end();
    begin();
  }

 private:
  void begin() { writer_.emplace(host_, kRecordingLevel, place_); }
  void end() {
    writer_->close_frame();
    place_ = *writer_->place();
    // Their order is not that of their names.
    const std::filesystem::path file = folder_ / fmt::format("part.{}", 100'000 - place_.number);
    std::ofstream to(file, std::ios::binary);
    to.write(reinterpret_cast<const char*>(writer_->ready().data()),
             static_cast<std::streamsize>(writer_->ready().size()));
  }

  HostInfo host_;
  std::filesystem::path folder_;
  RecordingPlace place_;
  std::optional<StreamWriter> writer_;
};

void cut(RecordingFile& from, const std::filesystem::path& folder, std::uint64_t every_ns, bool with_living) {
  Files files(from.host(), folder);
  Living living;
  std::uint64_t next_ns = 0;
  for (Event event = from.next(RecordingFile::Wait::kForBytes); event.kind() != EventKind::kNone;
       event = from.next(RecordingFile::Wait::kForBytes)) {
    if (next_ns == 0) next_ns = event.time_ns() + every_ns;
    if (event.time_ns() >= next_ns) {
      next_ns = event.time_ns() + every_ns;
      files.cut();
      if (with_living) living.write(files.writer());
    }
    living.follow(event);
    files.writer().append(event);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  try {
    RecordingFile from{std::filesystem::path(words[1])};
    cut(from, words[2], static_cast<std::uint64_t>(std::strtod(words[3], nullptr) * 1e9),
        count > 4 && std::string_view(words[4]) == "living");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cut_recording: %s\n", error.what());
    return 1;
  }
}
