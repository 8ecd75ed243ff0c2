// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/report.hpp>

namespace tracer::internal {

/// Bytes of a file, or of files: a lower bound where not all uses are known.
template <class Files>
Figure bytes_of(const Files& files, std::uint64_t Files::*bytes) {
  return {files.*bytes, files.unknown_uses == 0 ? Bound::kExact : Bound::kAtLeast};
}

/// The sums of several machines: the same file or peer is one, devices are each machine's own.
void add_busiest(std::vector<BusyFile>& all, const std::vector<BusyFile>& more);
void add_busiest(std::vector<BusyFileSystem>& all, const std::vector<BusyFileSystem>& more);
void add_busiest(std::vector<BusyPeer>& all, const std::vector<BusyPeer>& more);
void add_busiest(std::vector<BusyDevice>& all, const std::vector<BusyDevice>& more);
void add_busiest(std::vector<BusyGpu>& all, const std::vector<BusyGpu>& more);

/// The files, peers and devices through which most bytes went, and GPUs. Bounded: what comes when there are too many
/// displaces the half with the fewest bytes.
class Touched {
 public:
  void add(const FileUse& use);
  void add(const Connection& connection);
  void add(const DeviceSample& sample);
  void add(const GpuSample& sample);
  /// All devices that did anything have been sampled for it.
  void end_snapshot(std::uint64_t time_ns);

  /// Files and peers.
  std::size_t size() const noexcept { return files_.size() + peers_.size(); }
  std::vector<BusyFile> files() const;
  std::vector<BusyFileSystem> file_systems() const;
  std::vector<BusyPeer> peers() const;
  std::vector<BusyDevice> devices() const;
  std::vector<BusyGpu> gpus() const;

 private:
  void add_to_file_system(const FileUse& use);

  struct File {
    BusyFile sums;
    std::uint64_t most_read_bytes = 0;  ///< In one use.
    std::uint64_t most_written_bytes = 0;
  };
  using PeerKey = std::tuple<std::string, std::optional<std::string>, std::optional<std::string>,
                             std::optional<std::string>, std::optional<std::uint32_t>>;
  struct Device {
    BusyDevice sums;
    std::map<std::pair<std::string, std::optional<std::string>>, std::uint64_t> heaviest;  ///< Bytes by tool and task.
  };

  struct Gpu {
    BusyGpu sums;
    std::uint64_t time_ns = 0;     ///< Of the last samples; those of all its users have the same.
    std::uint64_t held_bytes = 0;  ///< By the users in these.
    std::uint64_t until_ns = 0;    ///< Where the span ends that was counted.
    std::uint64_t tool_used_ns = 0;
  };

  std::unordered_map<std::string, File> files_;  ///< By path.
  bool forgot_files_ = false;
  std::map<std::string, BusyFileSystem> file_systems_;  ///< By kind.
  std::map<PeerKey, BusyPeer> peers_;
  std::map<std::uint64_t, Device> devices_;
  std::map<std::string, Gpu> gpus_;
  std::optional<std::uint64_t> first_ns_;  ///< Since when devices are sampled.
  std::uint64_t last_ns_ = 0;
};

}  // namespace tracer::internal
