// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>
#include <tracer/run.hpp>

#include "base/quantities.hpp"
#include "commands/commands.hpp"
#include "files/task_files.hpp"
#include "process/privileges.hpp"
#include "show/printable.hpp"
#include "terminal/patient_write.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::printable;
namespace {

constexpr mode_t kFolderMode = 0700;

[[noreturn]] void refuse(const std::string& what) {
  throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, what, {}, {}});
}

}  // namespace

void write_text(int fd, std::string_view text, const std::string& name, const std::function<bool()>& go_on) {
  const Written written = write_patiently(fd, text, go_on);
  if (written == Written::kFailed) refuse(fmt::format("can't write {}", name));
  if (written == Written::kAll) return;
  errno = 0;
  refuse(fmt::format("{} was given up, because it took no data", name));
}

namespace {

/// "-" is standard output.
void write_file(const std::string& name, std::string_view text) {
  const auto go_on = [] { return true; };
  if (name == "-") return write_text(STDOUT_FILENO, text, "standard output", go_on);
  const int fd = tracer::open_as(std::nullopt, name);
  // Pipes and devices can't be cut, and need not be.
  if (::ftruncate(fd, 0) != 0) errno = 0;
  try {
    write_text(fd, text, name, go_on);
  } catch (...) {
    ::close(fd);
    throw;
  }
  if (::close(fd) != 0) refuse(fmt::format("can't write {}", name));
}

/// Nobody can exchange the folder from then on.
void go_to_folder(const std::string& name) {
  if (::mkdir(name.c_str(), kFolderMode) != 0 && errno != EEXIST) refuse(fmt::format("can't create {}", name));
  const auto end = tracer::end_of_links(tracer::without_slashes(name));
  const int folder =
      end ? ::open(end->path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | (end->follow ? 0 : O_NOFOLLOW)) : -1;
  if (folder < 0 || ::fchdir(folder) != 0) refuse(fmt::format("can't write to the folder {}", name));
  ::close(folder);
}

}  // namespace

int export_command(const Options& options) {
  tracer::RecordingReader reader = open_recording(options.files);
  act_for_caller();
  TaskFiles tasks;
  while (const auto event = reader.next()) tasks.add(*event);
  if (tasks.empty()) say("tracerd: {}: no task ended in it\n", printable(options.files.front()));
  if (tasks.left_out() != 0)
    say("tracerd: {}: {} no file, because there are too many\n", printable(options.files.front()),
        tracer::internal::format_count(tasks.left_out(), "more task has", "more tasks have"));
  if (options.trace) write_file(*options.trace, tasks.trace(reader.host().wall_offset_ns));
  if (options.benchmark) {
    go_to_folder(*options.benchmark);
    for (const auto& [name, text] : tasks.benchmarks()) write_file(name, text);
  }
  return 0;
}

}  // namespace tracerd
