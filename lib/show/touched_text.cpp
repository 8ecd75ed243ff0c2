// SPDX-License-Identifier: Apache-2.0
#include "show/touched_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <cstring>
#include <string>
#include <vector>

#include "base/file_systems.hpp"
#include "report/sums/touched.hpp"
#include "rules/port_names.hpp"
#include "show/figures.hpp"
#include "show/printable.hpp"
#include "show/screen.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostShown = 3;
constexpr std::size_t kMostPathWidth = 120;
constexpr std::size_t kMostToolWidth = 40;
constexpr std::uint64_t kLeastFileBytes = 1u << 20;
constexpr std::uint64_t kLeastPeerBytes = 64u << 10;
constexpr double kNotablyBusy = 0.5;
constexpr std::size_t kMostGpusShown = 8;
constexpr std::uint64_t kLeastGpuBytes = 1u << 20;
constexpr std::uint64_t kLeastGpuNs = 100'000'000;

/// The end of a path says most.
std::string short_path(const std::string& path) {
  if (path.size() <= kMostPathWidth) return printable(path);
  return symbols().ellipsis + printable(path.substr(path.size() - kMostPathWidth));
}

/// Those in the runs' folder by their paths in there.
std::string files_line(const Report& report, const char* what, std::uint64_t BusyFile::*bytes,
                       std::string BusyFile::*tool) {
  const std::string folder = report.folder.empty() ? "" : report.folder + '/';
  bool any_below = false;
  std::vector<BusyFile> files = report.files;
  std::stable_sort(files.begin(), files.end(),
                   [bytes](const BusyFile& a, const BusyFile& b) { return a.*bytes > b.*bytes; });
  std::string text;
  std::size_t shown = 0;
  for (const BusyFile& file : files) {
    if (file.*bytes < kLeastFileBytes || shown++ == kMostShown) break;
    const bool is_below = !folder.empty() && file.path.starts_with(folder);
    any_below |= is_below;
    text += fmt::format("{}{} ({}, most by {})", text.empty() ? "" : ", ",
                        short_path(is_below ? file.path.substr(folder.size()) : file.path),
                        format_figure(bytes_of(file, bytes), format_bytes), printable(file.*tool, kMostToolWidth));
  }
  const std::string where = any_below ? " below " + short_path(report.folder) : "";
  return text.empty() ? "" : fmt::format("most {}{}: {}\n", what, where, text);
}

/// Where all is on one kind, this is no news, unless another machine or a process serves it.
std::string file_systems_line(const Report& report) {
  std::vector<std::string> parts;
  bool all_local = true;
  for (const BusyFileSystem& system : report.file_systems) {
    if (system.read_bytes + system.written_bytes < kLeastFileBytes || parts.size() == kMostShown) break;
    all_local = all_local && is_local_file_system(system.filesystem);
    parts.push_back(fmt::format("{} ({} read, {} written)", printable(system.filesystem, kMostToolWidth),
                                format_figure(bytes_of(system, &BusyFileSystem::read_bytes), format_bytes),
                                format_figure(bytes_of(system, &BusyFileSystem::written_bytes), format_bytes)));
  }
  if (parts.empty() || (parts.size() == 1 && all_local)) return "";
  return fmt::format("file systems: {}\n", fmt::join(parts, ", "));
}

std::string address_of(const BusyPeer& peer) {
  const std::string host = peer.address ? printable(*peer.address) : "others";
  if (!peer.port) return host;
  const auto name = PortNames::builtin().name_of(peer.protocol, static_cast<std::uint16_t>(*peer.port));
  const std::string port = name ? fmt::format("{} ({})", *peer.port, *name) : fmt::format("{}", *peer.port);
  if (peer.role == "server") return fmt::format("{} at the own port {}", host, port);
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string text_of_error(int number) {
  const char* const text = ::strerrordesc_np(number);
  return text != nullptr ? text : fmt::format("error {}", number);
}

std::string peers_lines(const Report& report) {
  std::string text;
  std::size_t shown = 0;
  for (const BusyPeer& peer : report.peers) {
    if (peer.sent_bytes + peer.received_bytes < kLeastPeerBytes || shown++ == kMostShown) break;
    text += fmt::format("network: {} with {}: {} received, {} sent\n", printable(peer.tool, kMostToolWidth),
                        address_of(peer), format_bytes(peer.received_bytes), format_bytes(peer.sent_bytes));
  }
  shown = 0;
  for (const BusyPeer& peer : report.peers) {
    // A connect that succeeds when it is tried again is no news.
    if (peer.failed_connects == 0 || peer.sent_bytes + peer.received_bytes != 0 || !peer.error) continue;
    if (shown++ == kMostShown) break;
    text += fmt::format("network: {} could not connect to {}: {}{}\n", printable(peer.tool, kMostToolWidth),
                        address_of(peer), text_of_error(*peer.error),
                        peer.failed_connects > 1 ? fmt::format(" ({} times)", peer.failed_connects) : "");
  }
  return text;
}

/// By all that was read and written, from caches and pipes, too.
bool is_nearly_all_of_others(const BusyDevice& device, const ReportRow& total) {
  const auto is_whole = [](const std::optional<Figure>& bytes) { return bytes && bytes->bound != Bound::kAtLeast; };
  if (!is_whole(total.read_bytes) || !is_whole(total.written_bytes)) return false;
  const std::uint64_t own = std::max(total.read_bytes->value + total.written_bytes->value, device.tool_bytes);
  return own < (device.read_bytes + device.written_bytes) / 10;
}

/// Where a device was busy for most of the time.
std::string devices_lines(const Report& report) {
  std::string text;
  for (const BusyDevice& device : report.devices) {
    if (!device.busy_ns || device.span_ns == 0) continue;
    const double share = static_cast<double>(*device.busy_ns) / static_cast<double>(device.span_ns);
    if (share < kNotablyBusy) continue;
    text += fmt::format("disk {} was busy {} of the time", printable(device.name), format_share(std::min(share, 1.0)));
    text += is_nearly_all_of_others(device, report.total)
                ? fmt::format(", nearly all for other programs ({})",
                              format_bytes(device.read_bytes + device.written_bytes))
                : fmt::format(" ({} read, {} written, by all programs of the host)", format_bytes(device.read_bytes),
                              format_bytes(device.written_bytes));
    if (!device.tool.empty())
      text += fmt::format("; of this run, {}{} used it most ({})", printable(device.tool, kMostToolWidth),
                          device.task ? " in " + printable(*device.task, kMostToolWidth) : "",
                          with_bound(Bound::kAtLeast, format_bytes(device.tool_bytes)));
    text += '\n';
  }
  return text;
}

std::string share_text(std::uint64_t part_ns, std::uint64_t whole_ns) {
  return format_share(std::min(static_cast<double>(part_ns) / static_cast<double>(whole_ns), 1.0));
}

/// What a followed process held, or kept busy for a notable time.
std::string gpus_lines(const Report& report) {
  std::string text;
  std::size_t shown = 0;
  for (const BusyGpu& gpu : report.gpus) {
    const bool held = gpu.memory_peak_bytes.value_or(0) >= kLeastGpuBytes;
    if (!held && gpu.used_ns.value_or(0) < kLeastGpuNs) continue;
    if (shown++ == kMostGpusShown) break;
    text += fmt::format("GPU {}", printable(gpu.gpu));
    if (gpu.name) text += fmt::format(" ({})", printable(*gpu.name, kMostToolWidth));
    text += ':';
    if (gpu.span_ns != 0 && gpu.busy_ns)
      text += fmt::format(" busy {} of the time,", share_text(*gpu.busy_ns, gpu.span_ns));
    if (gpu.span_ns != 0 && gpu.used_ns)
      text += fmt::format(" used {} of the time,", share_text(*gpu.used_ns, gpu.span_ns));
    if (gpu.memory_peak_bytes) {
      text += fmt::format(" up to {}", format_bytes(*gpu.memory_peak_bytes));
      if (gpu.capacity_bytes) text += fmt::format(" of {}", format_bytes(*gpu.capacity_bytes));
      text += " held,";
    }
    if (!gpu.tool.empty())
      text += fmt::format(" most by {}{}", printable(gpu.tool, kMostToolWidth),
                          gpu.task ? " in " + printable(*gpu.task, kMostToolWidth) : "");
    if (text.ends_with(',')) text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace

std::string format_touched(const Report& report) {
  const std::string text = files_line(report, "read", &BusyFile::read_bytes, &BusyFile::read_by) +
                           files_line(report, "written", &BusyFile::written_bytes, &BusyFile::written_by) +
                           file_systems_line(report) + peers_lines(report) + devices_lines(report) + gpus_lines(report);
  return text.empty() ? "" : '\n' + text;
}

}  // namespace tracer::internal
