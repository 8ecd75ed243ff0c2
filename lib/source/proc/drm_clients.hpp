// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counter.hpp"
#include "source/proc/drm_fdinfo.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// Which processes use GPUs of the kernel's graphics drivers (DRM), such as AMD's and Intel's, by their open files.
class DrmClients {
 public:
  using Processes = std::map<std::uint32_t, std::uint64_t>;  ///< Pid to start time.

  struct Options {
    std::string proc = "/proc";
    std::string sys = "/sys";
    /// Whether the process still lives, and no other has its pid.
    std::function<bool(std::uint32_t pid, std::uint64_t start_ns)> lives = {};
    std::size_t most_links = 4096;    ///< Open files looked at in one read, but for those of known users.
    std::size_t most_files = 4096;    ///< Of one process.
    std::size_t most_clients = 1024;  ///< Of all processes.
    std::function<std::uint64_t()> now_ns = {};
  };

  DrmClients();
  explicit DrmClients(Options options);

  /// The drivers of GPUs that may report their use: "amdgpu, i915". NVIDIA's, which does not, is none of them.
  static std::string drivers(const std::string& sys = "/sys");

  /// One record for each of these processes and each GPU that it uses. Looks first at those that used one before; who
  /// is not reached is looked at next time. `between` is called every few milliseconds.
  std::vector<GpuRecord> read(const Processes& processes, const std::function<void()>& between);

  // From any thread.
  std::uint64_t refused() const noexcept { return refused_.value(); }
  std::uint64_t not_read() const noexcept { return not_read_.value(); }

 private:
  using Client = std::pair<std::string, std::uint64_t>;  ///< A device, and the driver's number of the client.
  using Process = std::pair<std::uint32_t, std::uint64_t>;
  struct Known {
    Process owner;  ///< The first process that was seen with it; a fork shares it.
    std::map<std::string, DrmEngine, std::less<>> engines;  ///< The largest figures so far.
    std::uint64_t time_ns = 0;
  };
  struct Use {
    std::string driver;
    std::optional<std::uint64_t> memory_bytes;
    std::map<std::string, std::uint64_t, std::less<>> busy_ns;  ///< By engine, since the read before.
    bool busy_known = true;
  };
  struct Looked {
    std::map<std::string, Use> uses;  ///< By device.
    std::size_t links = 0;
  };

  Looked look(const Process& process, std::set<Client>& seen);
  void add(const Process& process, const std::string& device, const DrmClient& client, std::set<Client>& seen,
           Looked& looked);
  bool add_busy(Known& known, const DrmClient& client, std::uint64_t span_ns, Use& use) const;
  /// "card1": by its place on the bus, else by the file's name.
  std::string device_of(const DrmClient& client, const std::string& file) const;
  void yield(const Process& process, const Looked& looked, std::vector<GpuRecord>& records);

  Options options_;
  std::map<Client, Known> clients_;
  std::map<Process, std::map<std::string, std::uint64_t>> users_;  ///< When each device of theirs was read.
  Process next_;                                                   ///< Where looking for new ones goes on.
  std::uint64_t time_ns_ = 0;                                      ///< Of this read.
  Counter refused_;
  Counter not_read_;
};

}  // namespace tracer::internal
