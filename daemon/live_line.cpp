// SPDX-License-Identifier: Apache-2.0
#include "live_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "printable.hpp"
#include "say.hpp"
#include "table.hpp"

namespace tracerd {
namespace {

constexpr auto kFirst = std::chrono::seconds(2);
constexpr std::size_t kMostShown = 4;
constexpr std::size_t kMostNameWidth = 24;

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string describe(const tracer::ProcessSample& sample) {
  const tracer::Process& process = *sample.process;
  std::string text = printable(process.tool.value_or(process.comm.value_or("?")), kMostNameWidth);
  const tracer::Progress& progress = sample.progress;
  if (!progress.file || progress.size_bytes.value_or(0) == 0) return text;
  text += fmt::format(" {:.0f} % of {}",
                      100.0 * static_cast<double>(*progress.position_bytes) / static_cast<double>(*progress.size_bytes),
                      printable(*progress.file, kMostNameWidth));
  if (progress.bytes_per_s == std::uint64_t{0}) return text + ", stands still";
  if (progress.time_left_ns) text += fmt::format(", {} left", format_duration(*progress.time_left_ns));
  return text;
}

LiveLine::LiveLine(bool wanted) : on_terminal_(wanted && ::isatty(STDERR_FILENO) != 0) {}

void LiveLine::saw(const tracer::ProcessSample& sample) {
  add(sample.time_ns, 1, {describe(sample), sample.account.cpu_ns.value_or(0), sample.progress.file.has_value()});
}

void LiveLine::saw(const tracer::ToolSample& sample) {
  add(sample.time_ns, sample.processes,
      {fmt::format("{} x {}", sample.processes, printable(sample.tool.value_or("?"), kMostNameWidth)),
       sample.account.cpu_ns.value_or(0), false});
}

void LiveLine::add(std::uint64_t snapshot_ns, std::uint64_t processes, Running running) {
  if (!on_terminal_) return;
  if (snapshot_ns != snapshot_ns_) {
    snapshot_ns_ = snapshot_ns;
    running_.clear();
    processes_ = 0;
  }
  fresh_ = true;
  processes_ += processes;
  running_.push_back(std::move(running));
}

std::string LiveLine::line() const {
  std::vector<Running> all = running_;
  std::stable_sort(all.begin(), all.end(), [](const Running& a, const Running& b) {
    return a.has_progress != b.has_progress ? a.has_progress : a.cpu_ns > b.cpu_ns;
  });
  std::string text = fmt::format("[{} running", processes_);
  for (std::size_t i = 0; i < std::min(all.size(), kMostShown); ++i) text += (i == 0 ? ": " : "; ") + all[i].text;
  if (all.size() > kMostShown) text += "; …";
  return printable(text + "]", std::max<std::size_t>(terminal_width(), 20) - 2);
}

void LiveLine::update() {
  if (!fresh_ || std::chrono::steady_clock::now() - begin_ < kFirst) return;
  fresh_ = false;
  // The cursor goes back to the line's beginning: what the command prints next takes the line's place.
  say("\r\x1b[K{}\r", line());
  shown_ = true;
}

void LiveLine::clear() {
  if (shown_) say("\r\x1b[K");
  shown_ = false;
}

}  // namespace tracerd
