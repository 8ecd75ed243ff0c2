// SPDX-License-Identifier: Apache-2.0
#include "nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>

namespace tracer_gpu {
namespace {

constexpr int kSuccess = 0;
constexpr int kNotFound = 6;
constexpr unsigned kMostDevices = 64;
constexpr unsigned kMostProcesses = 1024;
constexpr unsigned kTextBytes = 96;
/// As it marks a figure that it does not have.
constexpr unsigned long long kNotKnown = ~0ull;

}  // namespace

template <class Function>
bool Nvml::find(Function*& function, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* const symbol = ::dlsym(library_, name)) {
      function = reinterpret_cast<Function*>(symbol);
      return true;
    }
  return false;
}

std::string Nvml::open(const char* path) {
  library_ = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* const why = ::dlerror();
    return std::string("NVIDIA's management library can't be loaded: ") + (why != nullptr ? why : path);
  }
  if (!find(init_, {"nvmlInit_v2"}) || !find(count_, {"nvmlDeviceGetCount_v2"}) ||
      !find(handle_, {"nvmlDeviceGetHandleByIndex_v2"}) || !find(minor_, {"nvmlDeviceGetMinorNumber"}))
    return std::string(path) + " is not NVIDIA's management library, or too old";
  find(nvml_version_, {"nvmlSystemGetNVMLVersion"});
  find(driver_version_, {"nvmlSystemGetDriverVersion"});
  find(name_, {"nvmlDeviceGetName"});
  find(uuid_, {"nvmlDeviceGetUUID"});
  find(memory_, {"nvmlDeviceGetMemoryInfo"});
  find(rates_, {"nvmlDeviceGetUtilizationRates"});
  // Some drivers 535 have a longer struct in version 3; that of version 2 never changed.
  find(computing_, {"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3"});
  find(drawing_, {"nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses_v3"});
  find(utilizations_, {"nvmlDeviceGetProcessUtilization"});
  if (const int failed = init_(); failed != kSuccess)
    return "NVIDIA's management library refused to start, with its error " + std::to_string(failed);
  if (devices().empty()) return "NVIDIA's management library knows no GPU";
  return {};
}

std::string Nvml::version() const {
  char nvml[kTextBytes + 1] = {};
  char driver[kTextBytes + 1] = {};
  if (nvml_version_ == nullptr || nvml_version_(nvml, kTextBytes) != kSuccess) nvml[0] = '\0';
  if (driver_version_ == nullptr || driver_version_(driver, kTextBytes) != kSuccess) driver[0] = '\0';
  return std::string(nvml[0] != '\0' ? nvml : "?") + " (driver " + (driver[0] != '\0' ? driver : "?") + ")";
}

std::vector<Nvml::Device> Nvml::devices() const {
  unsigned count = 0;
  std::vector<Device> all;
  if (count_(&count) != kSuccess) return all;
  for (unsigned i = 0; i < std::min(count, kMostDevices); ++i) {
    Device device = nullptr;
    if (handle_(i, &device) == kSuccess) all.push_back(device);
  }
  return all;
}

std::optional<unsigned> Nvml::minor(Device device) const {
  unsigned number = 0;
  if (minor_(device, &number) != kSuccess) return std::nullopt;
  return number;
}

std::string Nvml::text(TextCall* call, Device device) const {
  char buffer[kTextBytes + 1] = {};
  if (call == nullptr || call(device, buffer, kTextBytes) != kSuccess) return {};
  return buffer;
}

std::string Nvml::name(Device device) const { return text(name_, device); }

std::string Nvml::uuid(Device device) const { return text(uuid_, device); }

std::optional<Memory> Nvml::memory(Device device) const {
  MemoryInfo info{};
  if (memory_ == nullptr || memory_(device, &info) != kSuccess) return std::nullopt;
  return Memory{info.total, info.used};
}

std::optional<unsigned> Nvml::utilization(Device device) const {
  Rates rates{};
  if (rates_ == nullptr || rates_(device, &rates) != kSuccess) return std::nullopt;
  return rates.gpu_percent;
}

/// On a GPU that is divided, a process has an entry for each of its instances.
void Nvml::add_processes(ProcessesCall* call, Device device, std::vector<Process>& all) const {
  std::vector<ProcessInfo> infos(kMostProcesses);
  unsigned count = kMostProcesses;
  if (call == nullptr || call(device, &count, infos.data()) != kSuccess) return;
  infos.resize(std::min(count, kMostProcesses));
  std::vector<Process> here;
  for (const ProcessInfo& info : infos) {
    auto at = std::find_if(here.begin(), here.end(), [&](const Process& each) { return each.pid == info.pid; });
    if (at == here.end()) at = here.insert(here.end(), Process{info.pid, std::nullopt});
    if (info.used_bytes != kNotKnown) at->memory_bytes = at->memory_bytes.value_or(0) + info.used_bytes;
  }
  for (const Process& process : here) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const Process& each) { return each.pid == process.pid; });
    if (at == all.end())
      all.push_back(process);
    else
      at->memory_bytes = std::max(at->memory_bytes, process.memory_bytes);
  }
}

std::vector<Process> Nvml::processes(Device device) const {
  std::vector<Process> all;
  add_processes(computing_, device, all);
  add_processes(drawing_, device, all);
  return all;
}

std::optional<std::vector<Utilization>> Nvml::utilizations(Device device, std::uint64_t& seen_us) const {
  if (utilizations_ == nullptr) return std::nullopt;
  std::vector<UtilizationSample> samples(kMostProcesses);
  unsigned count = kMostProcesses;
  const int result = utilizations_(device, samples.data(), &count, seen_us);
  // Nobody used it.
  if (result == kNotFound) count = 0;
  if (result != kSuccess && result != kNotFound) return std::nullopt;
  samples.resize(std::min(count, kMostProcesses));
  const std::uint64_t before_us = seen_us;
  std::vector<Utilization> all;
  // The last sample of each counts; older ones are left in the buffer of some drivers.
  std::sort(samples.begin(), samples.end(),
            [](const UtilizationSample& a, const UtilizationSample& b) { return a.time_us > b.time_us; });
  for (const UtilizationSample& sample : samples) {
    if (sample.time_us <= before_us) continue;
    seen_us = std::max<std::uint64_t>(seen_us, sample.time_us);
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Utilization& each) { return each.pid == sample.pid; });
    if (!known) all.push_back({sample.pid, sample.sm_percent});
  }
  return all;
}

}  // namespace tracer_gpu
