// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>

#include "commands.hpp"
#include "printable.hpp"
#include "say.hpp"
#include "task_files.hpp"

namespace tracerd {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kFolderMode = 0700;

[[noreturn]] void refuse(const std::string& what) {
  throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, what, {}, {}});
}

}  // namespace

void write_text(int fd, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) refuse(fmt::format("can't write {}", name));
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

namespace {

/// "-" is standard output.
void write_file(const std::string& name, std::string_view text) {
  if (name == "-") return write_text(STDOUT_FILENO, text, "standard output");
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (fd < 0) refuse(fmt::format("can't create {}", name));
  try {
    write_text(fd, text, name);
  } catch (...) {
    ::close(fd);
    throw;
  }
  if (::close(fd) != 0) refuse(fmt::format("can't write {}", name));
}

}  // namespace

int export_command(const Options& options) {
  tracer::RecordingReader reader(options.file);
  TaskFiles tasks;
  while (const auto event = reader.next()) tasks.add(*event);
  if (tasks.empty()) say("tracerd: {}: no task ended in it\n", printable(options.file));
  if (options.trace) write_file(*options.trace, tasks.trace(reader.host().wall_offset_ns));
  if (options.benchmark) {
    if (::mkdir(options.benchmark->c_str(), kFolderMode) != 0 && errno != EEXIST)
      refuse(fmt::format("can't create {}", *options.benchmark));
    for (const auto& [name, text] : tasks.benchmarks()) write_file(*options.benchmark + "/" + name, text);
  }
  return 0;
}

}  // namespace tracerd
