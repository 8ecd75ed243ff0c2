// SPDX-License-Identifier: Apache-2.0
#include "report/sums/touched.hpp"

#include <algorithm>

#include "base/tool_name.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostFiles = 8192;
constexpr std::size_t kMostFileSystems = 256;
constexpr std::size_t kMostPeers = 4096;
constexpr std::size_t kMostDevices = 256;
constexpr std::size_t kMostGpus = 256;
constexpr std::uint64_t kFailureBytes = 1u << 20;  ///< A connect that failed weighs as much.
constexpr std::size_t kMostHeaviest = 1024;        ///< Tools and tasks of a device.

std::uint64_t bytes_of(const BusyFile& file) { return std::max(file.read_bytes, file.written_bytes); }
std::uint64_t bytes_of(const BusyFileSystem& system) { return system.read_bytes + system.written_bytes; }
std::uint64_t bytes_of(const BusyPeer& peer) { return peer.sent_bytes + peer.received_bytes; }
std::uint64_t bytes_of(const BusyDevice& device) { return device.read_bytes + device.written_bytes; }

template <class Busy>
void keep_busiest(std::vector<Busy>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Busy& a, const Busy& b) { return bytes_of(a) > bytes_of(b); });
  if (all.size() > Summary::kMostBusy) all.resize(Summary::kMostBusy);
}

void keep_busiest(std::vector<BusyGpu>& all) {
  const auto use_of = [](const BusyGpu& gpu) {
    return std::pair(gpu.used_ns.value_or(0), gpu.memory_peak_bytes.value_or(0));
  };
  std::stable_sort(all.begin(), all.end(), [&](const BusyGpu& a, const BusyGpu& b) { return use_of(a) > use_of(b); });
  if (all.size() > Summary::kMostBusy) all.resize(Summary::kMostBusy);
}

/// Those that nothing was exchanged with behind, by how often connects failed.
void keep_busiest_peers(std::vector<BusyPeer>& all) {
  const auto failed_only =
      std::stable_partition(all.begin(), all.end(), [](const BusyPeer& peer) { return bytes_of(peer) != 0; });
  std::vector<BusyPeer> failed(failed_only, all.end());
  all.erase(failed_only, all.end());
  keep_busiest(all);
  std::stable_sort(failed.begin(), failed.end(),
                   [](const BusyPeer& a, const BusyPeer& b) { return a.failed_connects > b.failed_connects; });
  if (failed.size() > Summary::kMostBusy) failed.resize(Summary::kMostBusy);
  all.insert(all.end(), failed.begin(), failed.end());
}

/// Leaves the larger half.
template <class Entries, class BytesOf>
void make_room(Entries& entries, const BytesOf& bytes_of_entry) {
  std::vector<std::uint64_t> bytes;
  bytes.reserve(entries.size());
  for (const auto& entry : entries) bytes.push_back(bytes_of_entry(entry.second));
  const auto middle = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2);
  std::nth_element(bytes.begin(), middle, bytes.end());
  const std::uint64_t least = *middle;
  std::size_t left = entries.size() / 2;
  std::erase_if(entries, [&](const auto& entry) {
    if (left == 0 || bytes_of_entry(entry.second) > least) return false;
    --left;
    return true;
  });
}

std::string name_of_tool(const Process& process) { return known_tool(*process.program).value_or("?"); }

}  // namespace

void add_busiest(std::vector<BusyFile>& all, const std::vector<BusyFile>& more) {
  for (const BusyFile& file : more) {
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const BusyFile& each) { return each.path == file.path; });
    if (same == all.end()) {
      all.push_back(file);
      continue;
    }
    if (file.read_bytes > same->read_bytes) same->read_by = file.read_by;
    if (file.written_bytes > same->written_bytes) same->written_by = file.written_by;
    same->opens += file.opens;
    same->read_bytes += file.read_bytes;
    same->written_bytes += file.written_bytes;
    same->unknown_uses += file.unknown_uses;
  }
  keep_busiest(all);
}

void add_busiest(std::vector<BusyFileSystem>& all, const std::vector<BusyFileSystem>& more) {
  for (const BusyFileSystem& system : more) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const BusyFileSystem& each) { return each.filesystem == system.filesystem; });
    if (same == all.end()) {
      all.push_back(system);
      continue;
    }
    same->read_bytes += system.read_bytes;
    same->written_bytes += system.written_bytes;
    same->unknown_uses += system.unknown_uses;
  }
  keep_busiest(all);
}

void add_busiest(std::vector<BusyPeer>& all, const std::vector<BusyPeer>& more) {
  const auto key_of = [](const BusyPeer& peer) {
    return std::tie(peer.tool, peer.protocol, peer.role, peer.address, peer.port);
  };
  for (const BusyPeer& peer : more) {
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const BusyPeer& each) { return key_of(each) == key_of(peer); });
    if (same == all.end()) {
      all.push_back(peer);
      continue;
    }
    same->sent_bytes += peer.sent_bytes;
    same->received_bytes += peer.received_bytes;
    same->failed_connects += peer.failed_connects;
    if (peer.error) same->error = peer.error;
  }
  keep_busiest_peers(all);
}

void add_busiest(std::vector<BusyDevice>& all, const std::vector<BusyDevice>& more) {
  all.insert(all.end(), more.begin(), more.end());
  keep_busiest(all);
}

void add_busiest(std::vector<BusyGpu>& all, const std::vector<BusyGpu>& more) {
  all.insert(all.end(), more.begin(), more.end());
  keep_busiest(all);
}

namespace {

/// All bytes that it moved are known.
bool all_known(const FileUse& use) {
  return (!use.opened_to_read || use.read_bytes) && (!use.opened_to_write || use.written_bytes);
}

}  // namespace

void Touched::add_to_file_system(const FileUse& use) {
  if (!use.filesystem) return;
  if (file_systems_.size() >= kMostFileSystems && !file_systems_.contains(*use.filesystem)) return;
  BusyFileSystem& system = file_systems_[*use.filesystem];
  system.read_bytes += use.read_bytes.value_or(0);
  system.written_bytes += use.written_bytes.value_or(0);
  if (!all_known(use)) ++system.unknown_uses;
}

void Touched::add(const FileUse& use) {
  if (use.opens == 0) return;
  add_to_file_system(use);
  if (!use.path) return;
  const auto bytes_of_file = [](const File& file) { return bytes_of(file.sums); };
  const bool is_new = !files_.contains(*use.path);
  if (is_new && files_.size() >= kMostFiles) {
    make_room(files_, bytes_of_file);
    forgot_files_ = true;
  }
  File& file = files_[*use.path];
  // It may be one that was forgotten.
  if (is_new && forgot_files_) ++file.sums.unknown_uses;
  const auto note = [&use](const std::optional<std::uint64_t>& bytes, std::uint64_t& most, std::string& tool) {
    if (bytes.value_or(0) <= most) return;
    most = *bytes;
    tool = name_of_tool(*use.process);
  };
  note(use.read_bytes, file.most_read_bytes, file.sums.read_by);
  note(use.written_bytes, file.most_written_bytes, file.sums.written_by);
  file.sums.opens += use.opens;
  file.sums.read_bytes += use.read_bytes.value_or(0);
  file.sums.written_bytes += use.written_bytes.value_or(0);
  if (!all_known(use)) ++file.sums.unknown_uses;
}

/// What stays on the machine is no peer's.
void Touched::add(const Connection& connection) {
  if (connection.same_host && connection.failed_connects.value_or(0) == 0) return;
  const std::string tool = name_of_tool(*connection.process);
  const auto port = connection.local_port ? connection.local_port : connection.remote_port;
  const PeerKey key{tool, connection.protocol, connection.role, connection.remote_address, port};
  if (peers_.size() >= kMostPeers && !peers_.contains(key))
    make_room(peers_, [](const BusyPeer& peer) { return bytes_of(peer) + peer.failed_connects * kFailureBytes; });
  BusyPeer& peer = peers_[key];
  peer.tool = tool;
  peer.protocol = connection.protocol.value_or(connection.folded.value_or("?"));
  peer.role = connection.role;
  peer.address = connection.remote_address;
  peer.port = port;
  peer.sent_bytes += connection.sent_bytes;
  peer.received_bytes += connection.received_bytes;
  peer.failed_connects += connection.failed_connects.value_or(0);
  if (connection.error) peer.error = connection.error;
}

void Touched::add(const DeviceSample& sample) {
  if (devices_.size() >= kMostDevices && !devices_.contains(sample.device)) return;
  Device& device = devices_[sample.device];
  BusyDevice& sums = device.sums;
  if (sample.device_name) sums.name = *sample.device_name;
  sums.read_bytes += sample.read_bytes;
  sums.written_bytes += sample.written_bytes;
  first_ns_ = std::min(first_ns_.value_or(sample.since_ns), sample.since_ns);
  if (sample.busy_ns) sums.busy_ns = sums.busy_ns.value_or(0) + *sample.busy_ns;
  if (!sample.heaviest_tool) return;
  const std::pair key(*sample.heaviest_tool, sample.context->task);
  if (device.heaviest.size() >= kMostHeaviest && !device.heaviest.contains(key)) return;
  const std::uint64_t bytes = device.heaviest[key] += sample.heaviest_bytes.value_or(0);
  if (bytes < sums.tool_bytes) return;
  sums.tool = key.first;
  sums.task = key.second;
  sums.tool_bytes = bytes;
}

void Touched::add(const GpuSample& sample) {
  if (gpus_.size() >= kMostGpus && !gpus_.contains(sample.gpu)) return;
  Gpu& gpu = gpus_[sample.gpu];
  BusyGpu& sums = gpu.sums;
  if (sample.gpu_name) sums.name = sample.gpu_name;
  if (sample.gpu_capacity_bytes) sums.capacity_bytes = sample.gpu_capacity_bytes;
  if (gpu.time_ns != sample.time_ns) gpu.held_bytes = 0;
  gpu.time_ns = sample.time_ns;
  const std::uint64_t begin_ns = std::max(sample.since_ns.value_or(sample.time_ns), gpu.until_ns);
  // The device's own figures are the same in the samples of all its users.
  if (begin_ns < sample.time_ns) {
    sums.span_ns += sample.time_ns - begin_ns;
    gpu.until_ns = sample.time_ns;
    if (sample.gpu_busy_ns) sums.busy_ns = sums.busy_ns.value_or(0) + *sample.gpu_busy_ns;
  }
  if (sample.busy_ns) sums.used_ns = sums.used_ns.value_or(0) + *sample.busy_ns;
  if (sample.memory_bytes) {
    gpu.held_bytes += *sample.memory_bytes;
    sums.memory_peak_bytes = std::max(sums.memory_peak_bytes.value_or(0), gpu.held_bytes);
  }
  const bool holds_more = sample.memory_bytes && *sample.memory_bytes > sums.tool_peak_bytes.value_or(0);
  const bool uses_more = !sums.tool_peak_bytes && sample.busy_ns.value_or(0) > gpu.tool_used_ns;
  if (!holds_more && !uses_more) return;
  sums.tool = name_of_tool(*sample.process);
  sums.task = sample.process->context->task;
  if (holds_more) sums.tool_peak_bytes = sample.memory_bytes;
  gpu.tool_used_ns = sample.busy_ns.value_or(0);
}

void Touched::end_snapshot(std::uint64_t time_ns) {
  first_ns_ = std::min(first_ns_.value_or(time_ns), time_ns);
  last_ns_ = std::max(last_ns_, time_ns);
}

std::vector<BusyFile> Touched::files() const {
  std::vector<BusyFile> all;
  for (const auto& [path, file] : files_) {
    if (bytes_of(file.sums) == 0) continue;
    all.push_back(file.sums);
    all.back().path = path;
  }
  std::sort(all.begin(), all.end(), [](const BusyFile& a, const BusyFile& b) { return a.path < b.path; });
  keep_busiest(all);
  return all;
}

std::vector<BusyFileSystem> Touched::file_systems() const {
  std::vector<BusyFileSystem> all;
  for (const auto& [kind, system] : file_systems_) {
    if (bytes_of(system) == 0) continue;
    all.push_back(system);
    all.back().filesystem = kind;
  }
  keep_busiest(all);
  return all;
}

std::vector<BusyPeer> Touched::peers() const {
  std::vector<BusyPeer> all;
  for (const auto& [key, peer] : peers_) all.push_back(peer);
  keep_busiest_peers(all);
  return all;
}

std::vector<BusyGpu> Touched::gpus() const {
  std::vector<BusyGpu> all;
  for (const auto& [name, gpu] : gpus_) {
    all.push_back(gpu.sums);
    all.back().gpu = name;
  }
  keep_busiest(all);
  return all;
}

std::vector<BusyDevice> Touched::devices() const {
  std::vector<BusyDevice> all;
  for (const auto& [number, device] : devices_) {
    if (bytes_of(device.sums) == 0) continue;
    all.push_back(device.sums);
    all.back().span_ns = last_ns_ - std::min(last_ns_, first_ns_.value_or(last_ns_));
  }
  keep_busiest(all);
  return all;
}

}  // namespace tracer::internal
