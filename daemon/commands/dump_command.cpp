// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <vector>

#include <tracer/recording.hpp>

#include "commands/commands.hpp"
#include "commands/explanation.hpp"
#include "files/recordings.hpp"
#include "process/privileges.hpp"

namespace tracerd {
namespace {

void print_line(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) != EOF) return;
  throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, "can't write to standard output", {}, {}});
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
      const std::string text = explanation_of(reasons[i], true);
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
  std::vector<tracer::RecordingReader> recordings = open_recordings(options.files);
  if (options.explain) {
    act_for_caller();
    Explained explained;
    for (tracer::RecordingReader& reader : recordings)
      while (const auto event = reader.next()) explained.add(*event);
    explained.print(options.engine_rules.value_or(""));
  } else {
    become_reader();
    for (tracer::RecordingReader& reader : recordings) {
      print_line(to_json(reader.host()));
      while (const auto event = reader.next()) print_line(to_json(*event));
    }
  }
  if (std::fflush(stdout) != 0)
    throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, "can't write to standard output", {}, {}});
  report_damage(recordings);
  return 0;
}

}  // namespace tracerd
