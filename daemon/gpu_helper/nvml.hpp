// SPDX-License-Identifier: Apache-2.0
/// The functions of NVIDIA's management library (NVML) that are used, declared by hand after its API reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tracer_gpu {

struct Process {
  unsigned pid = 0;
  std::optional<std::uint64_t> memory_bytes;
};

struct Utilization {
  unsigned pid = 0;
  unsigned percent = 0;
};

struct Memory {
  std::uint64_t capacity_bytes = 0;
  std::uint64_t used_bytes = 0;
};

/// The library, loaded. Calls that fail leave their figure absent.
class Nvml {
 public:
  using Device = void*;

  /// `path`: a file, or a name that the loader looks for. Empty result: it works; else why not.
  std::string open(const char* path);
  std::string version() const;
  std::vector<Device> devices() const;

  std::optional<unsigned> minor(Device device) const;
  std::string name(Device device) const;  ///< "": not known; as uuid.
  std::string uuid(Device device) const;
  std::optional<Memory> memory(Device device) const;
  std::optional<unsigned> utilization(Device device) const;  ///< Percent, lately.
  /// Each once, those that compute and those that draw.
  std::vector<Process> processes(Device device) const;
  /// Of each process that used it lately, since `seen_us`, which is moved on. Absent: not reported by process.
  std::optional<std::vector<Utilization>> utilizations(Device device, std::uint64_t& seen_us) const;

 private:
  template <class Function>
  bool find(Function*& function, std::initializer_list<const char*> names);
  using TextCall = int(Device, char*, unsigned);
  std::string text(TextCall* call, Device device) const;

  struct ProcessInfo {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
  };
  struct UtilizationSample {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm_percent;
    unsigned memory_percent;
    unsigned encoder_percent;
    unsigned decoder_percent;
  };
  struct MemoryInfo {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };
  struct Rates {
    unsigned gpu_percent;
    unsigned memory_percent;
  };
  using ProcessesCall = int(Device, unsigned*, ProcessInfo*);
  void add_processes(ProcessesCall* call, Device device, std::vector<Process>& all) const;

  void* library_ = nullptr;
  int (*init_)() = nullptr;
  int (*nvml_version_)(char*, unsigned) = nullptr;
  int (*driver_version_)(char*, unsigned) = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, Device*) = nullptr;
  int (*minor_)(Device, unsigned*) = nullptr;
  TextCall* name_ = nullptr;
  TextCall* uuid_ = nullptr;
  int (*memory_)(Device, MemoryInfo*) = nullptr;
  int (*rates_)(Device, Rates*) = nullptr;
  ProcessesCall* computing_ = nullptr;
  ProcessesCall* drawing_ = nullptr;
  int (*utilizations_)(Device, UtilizationSample*, unsigned*, unsigned long long) = nullptr;
};

}  // namespace tracer_gpu
