// SPDX-License-Identifier: Apache-2.0
#include "truth_gpu.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fake_library.hpp"
#include "truth_tools.hpp"

namespace truth {
namespace {

using Library = fake_library::Mapped;
constexpr std::uint64_t kBytes = 1u << 20;

void often(int times, const std::function<void()>& call) {
  for (int i = 0; i < times; ++i) call();
}

int all_kinds(const Library& gpu) {
  std::uint64_t out = 0;
  often(100, [&] { gpu.call("cuMemAlloc_v2", &out, kBytes); });
  often(10, [&] { gpu.call("cuMemAllocManaged", &out, kBytes, 1u); });
  often(3, [&] { gpu.call("cuMemAllocPitch_v2", &out, &out, std::uint64_t{1000}, std::uint64_t{50}, 4u); });
  // More than there is.
  often(7, [&] { gpu.call("cuMemAlloc_v2", &out, kBytes << 12); });
  often(60, [&] { gpu.call("cuMemFree_v2", std::uint64_t{4096}); });
  // Not allocated, and null.
  often(2, [&] { gpu.call("cuMemFree_v2", std::uint64_t{1}); });
  often(5, [&] { gpu.call("cuMemFree_v2", std::uint64_t{0}); });
  often(20, [&] { gpu.call("cuStreamSynchronize", std::uint64_t{5}); });
  often(2, [&] { gpu.call("cuEventSynchronize", std::uint64_t{20}); });
  often(4, [&] { gpu.call("cuMemcpyDtoH_v2", &out, std::uint64_t{0}, std::size_t{10}); });
  often(6, [&] { gpu.call("cuCtxSetCurrent", &out); });
  often(1000, [&] { gpu.call("cuLaunchKernel", &out); });
  return 0;
}

int threads(const Library& gpu) {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&gpu] {
      std::uint64_t out = 0;
      often(2500, [&] {
        gpu.call("cuMemAlloc_v2", &out, kBytes);
        gpu.call("cuMemcpyDtoH_v2", &out, out, std::size_t{0});
      });
    });
  for (std::thread& each : all) each.join();
  return 0;
}

bool sleeps(const std::filesystem::path& thread) {
  long number = -1;
  std::ifstream(thread / "syscall") >> number;
  return number == SYS_nanosleep;
}

/// All of four threads are in a call when the process is killed.
int killed(const Library& gpu) {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) all.emplace_back([&gpu] { gpu.call("cuStreamSynchronize", std::uint64_t{60'000}); });
  const std::filesystem::directory_iterator end;
  while (std::count_if(std::filesystem::directory_iterator("/proc/self/task"), end, sleeps) != 4)
    std::this_thread::yield();
  ::kill(::getpid(), SIGKILL);
  return 1;
}

int waiting_threads(const Library& gpu) {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) all.emplace_back([&gpu] { gpu.call("cuStreamSynchronize", std::uint64_t{500}); });
  for (std::thread& each : all) each.join();
  return 0;
}

}  // namespace

int ask_gpu(const Arguments& a) {
  static const std::map<std::string, int (*)(const Library&)> kinds = {
      {"all_kinds", all_kinds}, {"threads", threads}, {"killed", killed}, {"waiting_threads", waiting_threads}};
  return kinds.at(a.at(0))(Library());
}

}  // namespace truth
