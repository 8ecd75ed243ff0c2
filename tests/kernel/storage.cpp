// SPDX-License-Identifier: Apache-2.0
#include "storage.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <utility>

bool write_text(const std::string& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool put = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return put;
}

namespace {

/// Attaches `file` to a free loop device; -1: there is none.
int attach_loop(int file, std::string& path) {
  const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) return -1;
  int loop = -1;
  // Another may take the free one first.
  for (int attempt = 0; attempt < 8 && loop < 0; ++attempt) {
    const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) break;
    path = "/dev/loop" + std::to_string(number);
    loop = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (loop < 0) break;
    loop_info64 info{};
    info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (::ioctl(loop, LOOP_SET_FD, file) == 0 && ::ioctl(loop, LOOP_SET_STATUS64, &info) == 0) break;
    ::close(loop);
    loop = -1;
  }
  ::close(control);
  return loop;
}

}  // namespace

/// A folder on a file system with storage behind it; empty: there is none.
std::string storage_folder() {
  constexpr long kExt = 0xEF53;
  constexpr long kXfs = 0x58465342;
  constexpr long kBtrfs = 0x9123683E;
  for (const char* folder : {"/var/tmp", "/tmp", "."}) {
    struct statfs status {};
    if (::statfs(folder, &status) != 0) continue;
    if (status.f_type == kExt || status.f_type == kXfs || status.f_type == kBtrfs) return folder;
  }
  return {};
}

std::optional<ScratchDisk> ScratchDisk::make(std::uint64_t bytes) {
  ScratchDisk disk;
  if (::getenv("TRACER_EMULATED") != nullptr) {
    disk.path_ = "/dev/nvme0n1";
    disk.open_ = ::open(disk.path_.c_str(), O_RDWR | O_CLOEXEC);
    if (disk.open_ < 0) return std::nullopt;
    return disk;
  }
  std::string name = storage_folder() + "/tracer_disk.XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return std::nullopt;
  ::unlink(name.c_str());
  if (::ftruncate(file, static_cast<off_t>(bytes)) == 0) disk.open_ = attach_loop(file, disk.path_);
  ::close(file);
  if (disk.open_ < 0) return std::nullopt;
  return disk;
}

ScratchDisk::ScratchDisk(ScratchDisk&& other) noexcept
    : path_(std::move(other.path_)), open_(std::exchange(other.open_, -1)) {}

ScratchDisk::~ScratchDisk() {
  if (open_ >= 0) ::close(open_);
}

std::string ScratchDisk::number() const {
  struct stat status {};
  ::stat(path_.c_str(), &status);
  return std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev));
}

std::optional<LimitedCgroup> LimitedCgroup::make(const std::string& controller) {
  const std::string root = "/sys/fs/cgroup";
  const bool is_v1 = ::access((root + "/" + controller + "/cgroup.procs").c_str(), W_OK) == 0;
  const std::string version_2 = controller == "blkio" ? "io" : controller;
  if (!is_v1 && !write_text(root + "/cgroup.subtree_control", "+" + version_2)) return std::nullopt;
  return make_in(root + (is_v1 ? "/" + controller : ""), is_v1);
}

std::optional<LimitedCgroup> LimitedCgroup::make_v2() {
  for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (::access((std::string(root) + "/cgroup.controllers").c_str(), R_OK) == 0) return make_in(root, false);
  return std::nullopt;
}

std::optional<LimitedCgroup> LimitedCgroup::make_in(const std::string& folder, bool is_v1) {
  LimitedCgroup cgroup;
  cgroup.is_v1_ = is_v1;
  cgroup.folder_ = folder + "/tracer_test." + std::to_string(::getpid());
  if (::mkdir(cgroup.folder_.c_str(), 0755) == 0) return cgroup;
  cgroup.folder_.clear();
  return std::nullopt;
}

std::optional<LimitedCgroup> LimitedCgroup::make_below(const std::string& controller) const {
  LimitedCgroup cgroup;
  cgroup.is_v1_ = is_v1_;
  if (!is_v1_ && !limit("cgroup.subtree_control", "+" + controller)) return std::nullopt;
  cgroup.folder_ = folder_ + "/below";
  if (::mkdir(cgroup.folder_.c_str(), 0755) == 0) return cgroup;
  cgroup.folder_.clear();
  return std::nullopt;
}

LimitedCgroup::LimitedCgroup(LimitedCgroup&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), is_v1_(other.is_v1_) {}

LimitedCgroup::~LimitedCgroup() {
  if (folder_.empty()) return;
  // A process that has been reaped may still be on its way out of it.
  for (int attempt = 0; attempt < 100 && ::rmdir(folder_.c_str()) != 0; ++attempt) ::usleep(10'000);
}

std::optional<std::uint64_t> LimitedCgroup::number(const std::string& file, const std::string& name) const {
  std::ifstream text(folder_ + "/" + file);
  std::uint64_t value = 0;
  if (name.empty()) return text >> value ? std::optional(value) : std::nullopt;
  for (std::string word; text >> word >> value;)
    if (word == name) return value;
  return std::nullopt;
}

bool LimitedCgroup::limit(const std::string& file, const std::string& value) const {
  return write_text(folder_ + "/" + file, value);
}
