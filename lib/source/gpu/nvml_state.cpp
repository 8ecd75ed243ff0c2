// SPDX-License-Identifier: Apache-2.0
#include "source/gpu/nvml_state.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace tracer::internal {
namespace {

constexpr std::size_t kMostLineBytes = 512;
constexpr std::size_t kMostDevices = 64;
constexpr std::size_t kMostProcesses = 4096;
constexpr std::uint64_t kMostBytes = 1ULL << 50;
constexpr std::uint64_t kMostNs = std::numeric_limits<std::uint64_t>::max() / 4;

/// Cuts the next word off.
std::string_view word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return first;
}

template <class Number>
bool take_number(std::string_view text, std::uint64_t most, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && number <= most;
}

bool take_figure(std::string_view text, std::uint64_t most, std::optional<std::uint64_t>& figure) {
  return text == "-" || take_number(text, most, figure.emplace());
}

bool take_text(std::string_view text, std::optional<std::string>& to) {
  if (text.empty()) return false;
  if (text != "-") to = text;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

}  // namespace

void NvmlLines::take(std::string_view bytes) {
  for (const char c : bytes) {
    if (c != '\n') {
      if (line_.size() < kMostLineBytes)
        line_ += c;
      else
        too_long_ = true;
      continue;
    }
    if (std::exchange(too_long_, false))
      ++refused_;
    else
      take_line(line_);
    line_.clear();
  }
}

std::optional<NvmlState> NvmlLines::take_state() { return std::exchange(whole_, std::nullopt); }

void NvmlLines::take_line(std::string_view line) {
  std::string_view rest = line;
  const std::string_view kind = word(rest);
  bool good = false;
  if (kind == "nvml") {
    good = take_text(rest, version_);
    if (!good) version_.reset();
  } else if (kind == "failed") {
    good = take_text(rest, failure_);
    if (!good) failure_ = "it could not say why";
  } else if (kind == "state") {
    open_.emplace();
    device_refused_ = true;
    processes_ = 0;
    good = take_number(rest, kMostNs, open_->time_ns);
    if (!good) open_.reset();
  } else if (kind == "device") {
    good = open_ && take_device(rest);
    device_refused_ = !good;
  } else if (kind == "process") {
    good = open_ && !device_refused_ && take_process(rest);
  } else if (kind == "end" && open_ && rest.empty()) {
    good = true;
    whole_ = std::exchange(open_, std::nullopt);
  }
  if (!good) ++refused_;
}

bool NvmlLines::take_device(std::string_view rest) {
  NvmlDevice device;
  if (open_->devices.size() >= kMostDevices || !take_number(word(rest), 1u << 20, device.minor) ||
      !take_figure(word(rest), kMostBytes, device.capacity_bytes) ||
      !take_figure(word(rest), kMostBytes, device.memory_bytes) || !take_figure(word(rest), kMostNs, device.busy_ns) ||
      !take_text(word(rest), device.uuid) || !take_text(rest, device.name))
    return false;
  if (device.capacity_bytes && device.memory_bytes && *device.memory_bytes > *device.capacity_bytes) return false;
  const bool twice = std::any_of(open_->devices.begin(), open_->devices.end(),
                                 [&](const NvmlDevice& other) { return other.minor == device.minor; });
  if (twice) return false;
  open_->devices.push_back(std::move(device));
  return true;
}

bool NvmlLines::take_process(std::string_view rest) {
  NvmlDevice& device = open_->devices.back();
  NvmlProcess process;
  if (++processes_ > kMostProcesses ||
      !take_number(word(rest), std::numeric_limits<std::int32_t>::max(), process.pid) || process.pid == 0 ||
      !take_figure(word(rest), kMostBytes, process.memory_bytes) ||
      !take_figure(word(rest), kMostNs, process.busy_ns) || !rest.empty())
    return false;
  if (device.capacity_bytes && process.memory_bytes && *process.memory_bytes > *device.capacity_bytes) return false;
  const bool twice = std::any_of(device.processes.begin(), device.processes.end(),
                                 [&](const NvmlProcess& other) { return other.pid == process.pid; });
  if (twice) return false;
  device.processes.push_back(process);
  return true;
}

}  // namespace tracer::internal
