// SPDX-License-Identifier: Apache-2.0
#include "source/proc/drm_clients.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/proc_stat.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFdinfoBytes = 16u << 10;
constexpr std::string_view kFolder = "/dev/dri/";

std::optional<std::string> target_name(const fs::path& link) {
  std::error_code failed;
  const fs::path target = fs::read_symlink(link, failed);
  if (failed) return std::nullopt;
  return target.filename().string();
}

std::optional<std::uint64_t> number_of(const std::string& file) {
  const auto text = read_small_file(file);
  if (!text) return std::nullopt;
  return parse_number<std::uint64_t>(trim(*text));
}

/// "card0", not a connector such as "card0-DP-1".
bool is_card(std::string_view name) {
  if (!name.starts_with("card") || name.size() == 4) return false;
  return name.find_first_not_of("0123456789", 4) == std::string_view::npos;
}

template <class Each>
void for_each_entry(const std::string& folder, const Each& each) {
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (!each(at->path())) return;
}

/// Figures may fall for a moment: the largest counts.
std::uint64_t growth(std::optional<std::uint64_t>& largest, std::uint64_t now) {
  const std::uint64_t before = largest.value_or(now);
  largest = std::max(before, now);
  return *largest - before;
}

/// By what a driver may be ahead of this clock.
constexpr std::uint64_t with_slack(std::uint64_t span_ns) { return span_ns + span_ns / 20 + 20'000'000; }

}  // namespace

DrmClients::DrmClients() : DrmClients(Options{}) {}

DrmClients::DrmClients(Options options) : options_(std::move(options)) {
  if (!options_.lives) options_.lives = lives;
  if (!options_.now_ns) options_.now_ns = boot_time_ns;
}

std::string DrmClients::drivers(const std::string& sys) {
  std::set<std::string> names;
  for_each_entry(sys + "/class/drm", [&](const fs::path& entry) {
    // What only shows a picture has no node to render with.
    if (!entry.filename().string().starts_with("renderD")) return true;
    const auto driver = target_name(entry / "device" / "driver");
    if (driver && *driver != "nvidia") names.insert(*driver);
    return true;
  });
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string DrmClients::device_of(const DrmClient& client, const std::string& file) const {
  const std::string folder = options_.sys + "/class/drm";
  const auto place = client.pci_device ? client.pci_device : target_name(folder + "/" + file + "/device");
  std::string device = file;
  if (!place) return device;
  for_each_entry(folder, [&](const fs::path& entry) {
    if (!is_card(entry.filename().string()) || target_name(entry / "device") != place) return true;
    device = entry.filename().string();
    return false;
  });
  return device;
}

/// False: more than the span is not possible.
bool DrmClients::add_busy(Known& known, const DrmClient& client, std::uint64_t span_ns, Use& use) const {
  bool possible = true;
  for (const auto& [name, now] : client.engines) {
    DrmEngine& largest = known.engines[name];
    std::uint64_t more_ns = 0;
    if (now.busy_ns) {
      more_ns = growth(largest.busy_ns, *now.busy_ns) / now.capacity;
    } else if (now.cycles && now.total_cycles) {
      const std::uint64_t cycles = growth(largest.cycles, *now.cycles);
      const std::uint64_t total = growth(largest.total_cycles, *now.total_cycles);
      const double share = total == 0 ? 0.0 : static_cast<double>(cycles) / static_cast<double>(total);
      // Beyond any span, but within the number.
      more_ns = static_cast<std::uint64_t>(static_cast<double>(span_ns) * std::min(share, 1e3)) / now.capacity;
    } else {
      continue;
    }
    possible = possible && more_ns <= with_slack(span_ns);
    use.busy_ns[name] += std::min(more_ns, span_ns);
  }
  return possible;
}

void DrmClients::add(const Process& process, const std::string& device, const DrmClient& client, std::set<Client>& seen,
                     Looked& looked) {
  const Client key(device, client.id);
  const auto at = clients_.find(key);
  // Another process's, which shared it, or another descriptor.
  if (at != clients_.end() && at->second.owner != process && seen.contains(key)) return;
  if (!seen.insert(key).second) return;
  if (at == clients_.end() && clients_.size() >= options_.most_clients) return not_read_.add(1);
  const bool is_new = at == clients_.end() || at->second.owner != process;
  Known& known = clients_[key];
  if (is_new) known = Known{process, {}, 0};
  Use& use = looked.uses[device];
  use.driver = client.driver;
  if (client.memory_bytes) use.memory_bytes = use.memory_bytes.value_or(0) + *client.memory_bytes;
  const std::uint64_t span_ns = is_new ? 0 : time_ns_ - known.time_ns;
  known.time_ns = time_ns_;
  if (!add_busy(known, client, span_ns, use)) {
    refused_.add(1);
    use.busy_known = false;
  }
}

DrmClients::Looked DrmClients::look(const Process& process, std::set<Client>& seen) {
  Looked looked;
  const std::string folder = fmt::format("{}/{}", options_.proc, process.first);
  for_each_entry(folder + "/fd", [&](const fs::path& entry) {
    if (++looked.links > options_.most_files) {
      not_read_.add(1);
      return false;
    }
    std::error_code failed;
    const std::string target = fs::read_symlink(entry, failed).string();
    if (failed || !target.starts_with(kFolder)) return true;
    const auto text = read_small_file(folder + "/fdinfo/" + entry.filename().string(), kMostFdinfoBytes);
    DrmClient client;
    switch (text ? parse_drm_fdinfo(*text, client) : DrmText::kNone) {
      case DrmText::kClient:
        add(process, device_of(client, target.substr(kFolder.size())), client, seen, looked);
        break;
      case DrmText::kNone: break;
      case DrmText::kRefused: refused_.add(1); break;
    }
    return true;
  });
  return looked;
}

void DrmClients::yield(const Process& process, const Looked& looked, std::vector<GpuRecord>& records) {
  std::map<std::string, std::uint64_t> read_ns;
  const auto before = users_.find(process);
  for (const auto& [device, use] : looked.uses) {
    GpuRecord& record = records.emplace_back();
    record.pid = process.first;
    record.start_ns = process.second;
    GpuSample& sample = record.sample;
    sample.time_ns = time_ns_;
    sample.gpu = device;
    sample.gpu_name = use.driver;
    sample.memory_bytes = use.memory_bytes;
    const std::string folder = options_.sys + "/class/drm/" + device + "/device";
    sample.gpu_capacity_bytes = number_of(folder + "/mem_info_vram_total");
    sample.gpu_memory_bytes = number_of(folder + "/mem_info_vram_used");
    if (sample.memory_bytes && sample.gpu_capacity_bytes && *sample.memory_bytes > *sample.gpu_capacity_bytes) {
      sample.memory_bytes.reset();
      refused_.add(1);
    }
    if (before != users_.end() && before->second.contains(device)) {
      sample.since_ns = before->second.at(device);
      for (const auto& [engine, busy_ns] : use.busy_ns) sample.busy_ns = std::max(sample.busy_ns.value_or(0), busy_ns);
      if (!use.busy_known) sample.busy_ns.reset();
      if (sample.busy_ns) sample.busy_ns = std::min(*sample.busy_ns, time_ns_ - *sample.since_ns);
    }
    read_ns[device] = time_ns_;
  }
  if (read_ns.empty())
    users_.erase(process);
  else
    users_[process] = std::move(read_ns);
}

std::vector<GpuRecord> DrmClients::read(const Processes& processes, const std::function<void()>& between) {
  time_ns_ = options_.now_ns();
  std::vector<GpuRecord> records;
  std::set<Client> seen;
  const auto is_there = [&](const Process& process) {
    const auto at = processes.find(process.first);
    return at != processes.end() && at->second == process.second;
  };
  std::erase_if(users_, [&](const auto& user) { return !is_there(user.first); });
  const auto read_one = [&](const Process& process) {
    between();
    Looked looked = look(process, seen);
    if (looked.uses.empty() && !users_.contains(process)) return looked.links;
    if (options_.lives(process.first, process.second)) yield(process, looked, records);
    return looked.links;
  };

  // Parents first: what they share with a child is theirs.
  const auto older = [](const Process& a, const Process& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  };
  std::vector<Process> known;
  std::vector<Process> others;
  for (const auto& [pid, start_ns] : processes)
    (users_.contains({pid, start_ns}) ? known : others).emplace_back(pid, start_ns);
  std::sort(known.begin(), known.end(), older);
  std::sort(others.begin(), others.end(), older);
  for (const Process& process : known) read_one(process);

  std::rotate(others.begin(), std::lower_bound(others.begin(), others.end(), next_, older), others.end());
  next_ = {};
  std::size_t links = 0;
  for (const Process& process : others) {
    if (links >= options_.most_links) {
      next_ = process;
      break;
    }
    links += read_one(process) + 1;
  }
  std::erase_if(clients_, [&](const auto& client) { return !seen.contains(client.first); });
  return records;
}

}  // namespace tracer::internal
