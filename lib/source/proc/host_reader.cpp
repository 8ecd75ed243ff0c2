// SPDX-License-Identifier: Apache-2.0
#include "source/proc/host_reader.hpp"

#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/words.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostDmi = 256;
/// Machines with thousands of CPUs and interrupts have long ones.
constexpr std::size_t kMostProc = 16u << 20;
constexpr std::uint64_t kSectorBytes = 512;

std::optional<std::uint64_t> number_in(const std::vector<std::string_view>& words, std::size_t place) {
  return place < words.size() ? parse_number<std::uint64_t>(words[place]) : std::nullopt;
}

/// Calls `each` with the words of each line, until it answers false.
template <class Each>
void for_each_line(std::string_view text, Each each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto words = words_of(text.substr(0, end), " \t:");
    if (!words.empty() && !each(words)) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

void read_cpus(std::string_view text, HostRecord& record) {
  // user nice system idle iowait irq softirq steal; guests are in user and nice already.
  enum Place : std::size_t { kUser = 1, kNice, kSystem, kIdle, kIoWait, kIrq, kSoftIrq, kSteal, kEnd };
  const std::uint64_t tick_ns = 1'000'000'000u / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  for_each_line(text, [&](const std::vector<std::string_view>& words) {
    if (!words[0].starts_with("cpu")) return false;
    if (words[0].size() > 3) {
      ++record.cpus;
      return true;
    }
    std::array<std::uint64_t, kEnd> ticks{};
    for (std::size_t place = kUser; place < kEnd; ++place) {
      const auto number = number_in(words, place);
      if (!number) return true;
      ticks[place] = *number;
    }
    record.used_cpu_ns = (ticks[kUser] + ticks[kNice] + ticks[kSystem] + ticks[kIrq] + ticks[kSoftIrq]) * tick_ns;
    record.idle_cpu_ns = (ticks[kIdle] + ticks[kIoWait]) * tick_ns;
    record.steal_cpu_ns = ticks[kSteal] * tick_ns;
    return true;
  });
}

void read_memory(std::string_view text, HostRecord& record) {
  constexpr std::uint64_t kKiB = 1024;
  for_each_line(text, [&](const std::vector<std::string_view>& words) {
    const auto kib = number_in(words, 1);
    if (kib && words[0] == "MemTotal") record.memory_bytes = *kib * kKiB;
    if (kib && words[0] == "MemAvailable") record.available_memory_bytes = *kib * kKiB;
    return !record.memory_bytes || !record.available_memory_bytes;
  });
}

/// Through devices, if there are any: what bridges and tunnels carry goes through these again.
void read_network(std::string_view text, const std::string& classes, HostRecord& record) {
  constexpr std::size_t kReceived = 1;
  constexpr std::size_t kSent = 9;
  std::optional<std::uint64_t> all;
  std::optional<std::uint64_t> of_devices;
  for_each_line(text, [&](const std::vector<std::string_view>& words) {
    const auto received = number_in(words, kReceived);
    const auto sent = number_in(words, kSent);
    if (!received || !sent || words[0] == "lo") return true;
    all = all.value_or(0) + *received + *sent;
    if (exists(classes + std::string(words[0]) + "/device")) of_devices = of_devices.value_or(0) + *received + *sent;
    return true;
  });
  record.network_bytes = of_devices ? of_devices : all;
}

/// Whole devices that are no views of others.
void read_storage(std::string_view text, const std::string& devices, HostRecord& record) {
  constexpr std::size_t kName = 2;
  constexpr std::size_t kReadSectors = 5;
  constexpr std::size_t kWrittenSectors = 9;
  std::uint64_t sectors = 0;
  for_each_line(text, [&](const std::vector<std::string_view>& words) {
    const auto read = number_in(words, kReadSectors);
    const auto written = number_in(words, kWrittenSectors);
    if (read && written && exists(devices + std::string(words[kName]) + "/device")) sectors += *read + *written;
    return true;
  });
  record.storage_bytes = sectors * kSectorBytes;
}

}  // namespace

HostReader::HostReader(std::string root) : root_(std::move(root)) {
  identity_ = HostRules::builtin().identity_of(
      [this](const std::string& file) { return read_small_file(root_ + "/sys/class/dmi/id/" + file, kMostDmi); });
}

HostRecord HostReader::read() const {
  HostRecord record;
  const auto stat = read_small_file(root_ + "/proc/stat", kMostProc);
  record.time_ns = boot_time_ns();
  if (stat) read_cpus(*stat, record);
  if (const auto text = read_small_file(root_ + "/proc/meminfo")) read_memory(*text, record);
  if (const auto text = read_small_file(root_ + "/proc/net/dev"))
    read_network(*text, root_ + "/sys/class/net/", record);
  if (const auto text = read_small_file(root_ + "/proc/diskstats"); text && exists(root_ + "/sys/block"))
    read_storage(*text, root_ + "/sys/block/", record);
  record.provider = identity_.provider;
  record.instance_type = identity_.instance_type;
  record.instance_id = identity_.instance_id;
  return record;
}

}  // namespace tracer::internal
