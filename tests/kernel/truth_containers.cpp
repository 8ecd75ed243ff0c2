// SPDX-License-Identifier: Apache-2.0
#include "truth_containers.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "storage.hpp"
#include "truth.hpp"
#include "truth_tools.hpp"

namespace truth {
namespace {

struct Container {
  std::string folder;
  std::string below;  ///< The same, or a cgroup below it.
  pid_t pid = -1;
};

bool make(const std::string& folder, const std::string& limit, bool has_below) {
  if (::mkdir(folder.c_str(), 0755) != 0) return false;
  const bool is_v1 = ::access((folder + "/memory.limit_in_bytes").c_str(), F_OK) == 0;
  if (limit != "0" && !write_text(folder + (is_v1 ? "/memory.limit_in_bytes" : "/memory.max"), limit)) return false;
  if (limit != "0" && !is_v1) write_text(folder + "/memory.swap.max", "0");
  return is_v1 || !has_below || write_text(folder + "/cgroup.subtree_control", "+memory");
}

std::uint64_t peak_of(const std::string& folder) {
  for (const char* file : {"/memory.max_usage_in_bytes", "/memory.peak"}) {
    std::ifstream in(folder + file);
    if (std::uint64_t bytes = 0; in >> bytes) return bytes;
  }
  return 0;
}

bool remove(const std::string& folder) {
  // What has been reaped may still be on its way out of it.
  for (int attempt = 0; attempt < 500; ++attempt) {
    if (::rmdir(folder.c_str()) == 0) return true;
    ::usleep(10'000);
  }
  return false;
}

/// It executes only when this process has closed its end of `gate`.
pid_t child_in(const std::string& folder, const std::string& mib, const int (&gate)[2]) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::close(gate[1]);
  if (!write_text(folder + "/cgroup.procs", "0")) ::_exit(2);
  char byte = 0;
  [[maybe_unused]] const ssize_t got = ::read(gate[0], &byte, 1);
  execute(call("touch", {mib}));
}

}  // namespace

std::string container_id(std::size_t number) {
  char text[65];
  std::snprintf(text, sizeof text, "%064zx", number + 0xabc000);
  return text;
}

int live_in_containers(const Arguments& arguments) {
  const bool has_below = !arguments.at(5).empty();
  std::vector<Container> containers;
  int gate[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return 2;
  for (std::size_t i = 0; i < static_cast<std::size_t>(number(arguments, 1)); ++i) {
    std::string name = arguments.at(4);
    if (const std::size_t at = name.find("{id}"); at != std::string::npos) name.replace(at, 4, container_id(i));
    Container container{arguments.at(0) + "/" + name, {}};
    if (!make(container.folder, arguments.at(3), has_below)) return 2;
    container.below = has_below ? container.folder + "/" + arguments.at(5) : container.folder;
    if (has_below && ::mkdir(container.below.c_str(), 0755) != 0) return 2;
    containers.push_back(std::move(container));
  }
  for (Container& container : containers) container.pid = child_in(container.below, arguments.at(2), gate);
  ::close(gate[1]);
  for (const Container& container : containers) {
    int status = -1;
    ::waitpid(container.pid, &status, 0);
    const std::uint64_t peak_bytes = peak_of(container.below);
    if (has_below && !remove(container.below)) return 2;
    if (!remove(container.folder)) return 2;
    report(static_cast<std::uint64_t>(container.pid));
    report(static_cast<std::uint64_t>(status));
    report(peak_bytes);
  }
  return 0;
}

int work_behind_mount(const Arguments& arguments) {
  const char* const folder = arguments.at(0).c_str();
  const std::string& kind = arguments.at(1);
  if (kind != "none") {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 2;
    const int mounted = kind == "same" ? ::mount(folder, folder, nullptr, MS_BIND, nullptr)
                                       : ::mount("none", folder, "tmpfs", 0, nullptr);
    if (mounted != 0) return 2;
  }
  if (::chdir(folder) != 0) return 2;
  execute(call("exit", {"0"}));
}

}  // namespace truth
