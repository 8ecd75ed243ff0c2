// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include <tracer/recording.hpp>

#include "commands.hpp"
#include "explanation.hpp"
#include "printable.hpp"
#include "privileges.hpp"
#include "say.hpp"

namespace tracerd {
namespace {

void print_line(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) != EOF) return;
  throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, "can't write to standard output", {}, {}});
}

/// "-" is standard input.
tracer::RecordingReader open_recording(const std::string& file, const std::string& name) {
  if (file != "-") return tracer::RecordingReader(file);
  return tracer::RecordingReader(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), name);
}

/// Each context once, in the order in which they came.
class Explained {
 public:
  void add(const tracer::Event& event) {
    tracer::visit(
        [this](const auto& one) {
          if constexpr (requires { one.process->context; }) add(one.process);
        },
        event);
  }
  void print(const std::string& engine_rules) const {
    std::vector<tracer::Context> contexts;
    for (const auto& process : order_) contexts.push_back(*process->context);
    const auto reasons = tracer::explain(contexts, engine_rules);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      print_line(subject_of(*order_[i]) + ", and others");
      const std::string text = explanation_of(reasons[i]);
      print_line(text.substr(0, text.size() - 1));
    }
  }

 private:
  void add(const std::shared_ptr<const tracer::Process>& process) {
    if (process->context == last_) return;
    last_ = process->context;
    if (seen_.insert(*last_).second) order_.push_back(process);
  }

  std::shared_ptr<const tracer::Context> last_;
  std::set<tracer::Context> seen_;
  std::vector<std::shared_ptr<const tracer::Process>> order_;
};

}  // namespace

int dump_command(const Options& options) {
  const std::string name = options.file == "-" ? "standard input" : options.file;
  tracer::RecordingReader reader = open_recording(options.file, name);
  if (options.explain) {
    act_for_caller();
    Explained explained;
    while (const auto event = reader.next()) explained.add(*event);
    explained.print(options.engine_rules.value_or(""));
  } else {
    become_reader();
    print_line(to_json(reader.host()));
    while (const auto event = reader.next()) print_line(to_json(*event));
  }
  if (std::fflush(stdout) != 0)
    throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, "can't write to standard output", {}, {}});
  const std::string shown = printable(name);
  const tracer::RecordingDamage& damage = reader.damage();
  if (damage.skipped_bytes != 0)
    say("tracerd: {}: {} bytes are damaged or cut off; everything else was read\n", shown, damage.skipped_bytes);
  if (damage.skipped_events != 0)
    say("tracerd: {}: {} events are left out: a newer libtracer may know their kinds, or they are more than their "
        "bytes may hold\n",
        shown, damage.skipped_events);
  if (damage.missing_frames != 0)
    say("tracerd: {}: {} frames are missing: the writer could not write them, or the file was cut in between\n", shown,
        damage.missing_frames);
  if (damage.read_error != 0)
    say("tracerd: {}: reading failed before the end: {}\n", shown, std::strerror(damage.read_error));
  else if (damage.truncated)
    say("tracerd: {}: the recording has no end: it is still being written, or was cut short\n", shown);
  return 0;
}

}  // namespace tracerd
