// SPDX-License-Identifier: Apache-2.0
/// The family disks, against programs of which it is known what they move to and from which device.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "has_family.hpp"
#include "storage.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

std::uint64_t number_of(dev_t device) { return std::uint64_t{major(device)} << 20 | minor(device); }

std::uint64_t number_of(const ScratchDisk& disk) {
  struct stat status {};
  REQUIRE(::stat(disk.path().c_str(), &status) == 0);
  return number_of(status.st_rdev);
}

std::string name_of(const ScratchDisk& disk) { return std::filesystem::path(disk.path()).filename().string(); }

std::optional<ScratchDisk> scratch_disk() {
  auto disk = ScratchDisk::make(64 * kMiB);
  if (!disk) MESSAGE("SKIP: no disk for tests here");
  return disk;
}

/// Removed at the end.
class File {
 public:
  explicit File(const std::string& folder) {
    path_ = folder + "/tracer_disks.XXXXXX";
    const int fd = ::mkstemp(path_.data());
    REQUIRE(fd >= 0);
    ::close(fd);
  }
  ~File() { ::unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Disk {
  std::uint64_t number;
  std::string name;
};

/// The whole disk on which a file lies. Absent: its file system is on none, or on several.
std::optional<Disk> disk_below(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  std::error_code failed;
  auto folder = std::filesystem::canonical(
      "/sys/dev/block/" + std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev)), failed);
  if (failed) return std::nullopt;
  if (std::filesystem::exists(folder / "partition")) folder = folder.parent_path();
  // What has none of its own hands its requests on.
  if (!std::filesystem::exists(folder / "mq")) return std::nullopt;
  std::ifstream text(folder / "dev");
  unsigned major_number = 0;
  unsigned minor_number = 0;
  char colon = 0;
  text >> major_number >> colon >> minor_number;
  REQUIRE(!text.fail());
  return Disk{number_of(makedev(major_number, minor_number)), folder.filename().string()};
}

/// As the kernel itself counts.
struct Counted {
  explicit Counted(const std::string& device) {
    std::ifstream text("/sys/class/block/" + device + "/stat");
    for (std::uint64_t& field : fields) text >> field;
    REQUIRE(!text.fail());
  }
  std::uint64_t read_requests() const { return fields[0]; }
  std::uint64_t read_bytes() const { return fields[2] * 512; }
  std::uint64_t write_requests() const { return fields[4]; }
  std::uint64_t written_bytes() const { return fields[6] * 512; }
  std::uint64_t busy_ns() const { return fields[9] * 1'000'000; }

  std::array<std::uint64_t, 10> fields{};
};

std::vector<tracer::DeviceSample> samples_of(const Capture& capture, std::uint64_t device) {
  std::vector<tracer::DeviceSample> samples;
  for (const auto& sample : capture.all<tracer::DeviceSample>())
    if (sample.device == device) samples.push_back(sample);
  return samples;
}

/// One sample of each device, at the end.
tracer::SessionOptions once() {
  tracer::SessionOptions options;
  options.sample_interval = std::chrono::hours(1);
  options.families = {tracer::Family::kDisks};
  return options;
}

template <class Member>
std::uint64_t sum(const std::vector<tracer::DeviceSample>& samples, Member member) {
  std::uint64_t sum = 0;
  for (const auto& sample : samples) sum += sample.*member;
  return sum;
}

/// 8 MiB each way.
void check_samples(const std::vector<tracer::DeviceSample>& samples, const Capture& capture, const std::string& name) {
  REQUIRE(!samples.empty());
  std::uint64_t heaviest_bytes = 0;
  for (const auto& sample : samples) {
    CHECK(sample.device_name == name);
    CHECK(sample.since_ns > 0);
    CHECK(sample.read_latency_ns.has_value() == (sample.read_requests != 0));
    CHECK(sample.write_latency_ns.has_value() == (sample.write_requests != 0));
    for (const auto& mean_ns : {sample.read_latency_ns, sample.write_latency_ns})
      if (mean_ns) CHECK(*mean_ns > 0);
    const std::uint64_t requests = sample.read_requests + sample.write_requests;
    CHECK(sample.latency_p99_at_most_ns.has_value() == (requests != 0));
    // Of fewer than 100 it bounds the slowest. Of more, one that is very slow makes the mean larger.
    if (requests != 0 && requests < 100)
      for (const auto& mean_ns : {sample.read_latency_ns, sample.write_latency_ns})
        CHECK(mean_ns.value_or(0) <= sample.latency_p99_at_most_ns.value_or(0));
    CHECK(sample.busy_ns.has_value());
    if (!sample.heaviest_pid) continue;
    CHECK(sample.heaviest_pid == static_cast<std::uint32_t>(capture.pid));
    CHECK(sample.heaviest_tool == capture.exit().process->program->tool);
    heaviest_bytes += sample.heaviest_bytes.value();
  }
  CHECK(heaviest_bytes >= 16 * kMiB);
  CHECK(heaviest_bytes <= 17 * kMiB);
  CHECK(sum(samples, &tracer::DeviceSample::read_requests) > 0);
  CHECK(sum(samples, &tracer::DeviceSample::write_requests) > 0);
}

}  // namespace

TEST_CASE("what a program moves to and from a device of its own is what the device does" *
          doctest::test_suite("essential")) {
  const auto disk = scratch_disk();
  if (!disk) return;
  const Counted before(name_of(*disk));
  const Capture capture = trace(truth::call("use_disk", {disk->path(), "8", "8"}));
  const Counted after(name_of(*disk));
  REQUIRE(capture.status == 0);
  if (!has_family(capture, "disks")) return;
  const auto samples = samples_of(capture, number_of(*disk));
  check_samples(samples, capture, name_of(*disk));
  for (const auto member : {&tracer::DeviceSample::read_bytes, &tracer::DeviceSample::written_bytes}) {
    CHECK(sum(samples, member) >= 8 * kMiB);
    CHECK(sum(samples, member) <= 8 * kMiB + kMiB / 2);
  }
  CHECK(sum(samples, &tracer::DeviceSample::read_bytes) == after.read_bytes() - before.read_bytes());
  CHECK(sum(samples, &tracer::DeviceSample::written_bytes) == after.written_bytes() - before.written_bytes());
  CHECK(sum(samples, &tracer::DeviceSample::read_requests) == after.read_requests() - before.read_requests());
  CHECK(sum(samples, &tracer::DeviceSample::write_requests) == after.write_requests() - before.write_requests());
  std::uint64_t busy_ns = 0;
  for (const auto& sample : samples) busy_ns += sample.busy_ns.value_or(0);
  CHECK(busy_ns == after.busy_ns() - before.busy_ns());
}

TEST_CASE("the device below a file system is reported, and who used it") {
  const std::string folder = storage_folder();
  if (folder.empty()) {
    MESSAGE("SKIP: no file system with storage here");
    return;
  }
  const File file(folder);
  const auto disk = disk_below(file.path());
  if (!disk) {
    MESSAGE("SKIP: the file system is not on one device");
    return;
  }
  const Capture capture = trace(truth::call("use_disk", {file.path(), "8", "8"}));
  REQUIRE(capture.status == 0);
  if (!has_family(capture, "disks")) return;
  const auto samples = samples_of(capture, disk->number);
  check_samples(samples, capture, disk->name);
  // Others may use it, too.
  CHECK(sum(samples, &tracer::DeviceSample::read_bytes) >= 8 * kMiB);
  CHECK(sum(samples, &tracer::DeviceSample::written_bytes) >= 8 * kMiB);
}

TEST_CASE("each read of a device is a request, and took no longer than the call that asked for it" *
          doctest::test_suite("essential")) {
  constexpr std::uint64_t kReads = 2000;
  const auto disk = scratch_disk();
  if (!disk) return;
  const Capture capture = trace(truth::call("read_pages", {disk->path(), std::to_string(kReads)}), once());
  REQUIRE(capture.status == 0);
  if (!has_family(capture, "disks")) return;
  const auto samples = samples_of(capture, number_of(*disk));
  REQUIRE(samples.size() == 1);
  const tracer::DeviceSample& sample = samples[0];
  CHECK(sample.read_requests == kReads);
  CHECK(sample.read_bytes == kReads * 4096);
  CHECK(sample.heaviest_bytes == kReads * 4096);
  CHECK(sample.write_requests == 0);
  CHECK_FALSE(sample.write_latency_ns.has_value());
  REQUIRE(sample.read_latency_ns.has_value());
  CHECK(*sample.read_latency_ns > 0);
  CHECK(*sample.read_latency_ns * kReads <= capture.reported());
}

TEST_CASE("waits for a disk are for the device that the thread has asked" * doctest::test_suite("essential")) {
  const auto disk = scratch_disk();
  if (!disk) return;
  for (const auto& [program, count] : {std::pair("read_pages", "2000"), std::pair("read_cached", "128")}) {
    CAPTURE(program);
    const Capture capture = trace(truth::call(program, {disk->path(), count}));
    REQUIRE(capture.status == 0);
    if (!has_family(capture, "disks") || !has_family(capture, "waits")) return;
    const tracer::ProcessExit exit = capture.exit();
    REQUIRE(exit.account.ledger.has_value());
    const std::uint64_t waited_ns = exit.account.ledger->disk_ns;
    REQUIRE(waited_ns > 0);
    CHECK(exit.disk_wait_device == name_of(*disk));
    REQUIRE(exit.disk_wait_device_ns.has_value());
    CAPTURE(waited_ns);
    CHECK(*exit.disk_wait_device_ns <= waited_ns);
    // The rest is for the executable, for example.
    CHECK(*exit.disk_wait_device_ns >= waited_ns / 2);
  }
}

TEST_CASE("who waits for no disk has no device") {
  const Capture capture = trace(truth::call("many_peers", {"1"}));
  const tracer::ProcessExit exit = capture.exit();
  REQUIRE(exit.account.ledger.has_value());
  CHECK(exit.disk_wait_device.has_value() == exit.disk_wait_device_ns.has_value());
  // Its executable may have to be read.
  if (exit.account.ledger->disk_ns == 0) CHECK_FALSE(exit.disk_wait_device.has_value());
}

TEST_CASE("of two that use one device at the same time, the heavy one is named, though it has ended") {
  const auto disk = scratch_disk();
  if (!disk) return;
  const int rounds = ::getenv("TRACER_EMULATED") != nullptr ? 3 : 20;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const Capture capture = trace(truth::call("share_disks", {disk->path(), disk->path()}), once());
    REQUIRE(capture.status == 0);
    if (!has_family(capture, "disks")) return;
    std::istringstream pids(capture.output);
    std::uint32_t heavy = 0;
    pids >> heavy;
    const auto samples = samples_of(capture, number_of(*disk));
    REQUIRE(samples.size() == 1);
    CHECK(samples[0].heaviest_pid == heavy);
    CHECK(samples[0].heaviest_bytes == 64 * kMiB);
    CHECK(samples[0].written_bytes == 65 * kMiB);
  }
}

TEST_CASE("each of two devices names its own user") {
  const auto one = scratch_disk();
  if (!one) return;
  const auto other = ::getenv("TRACER_EMULATED") != nullptr ? std::nullopt : scratch_disk();
  if (!other) {
    MESSAGE("SKIP: needs two disks");
    return;
  }
  const Capture capture = trace(truth::call("share_disks", {one->path(), other->path()}), once());
  REQUIRE(capture.status == 0);
  if (!has_family(capture, "disks")) return;
  std::istringstream pids(capture.output);
  std::uint64_t mib = 64;
  for (const auto* disk : {&*one, &*other}) {
    std::uint32_t pid = 0;
    pids >> pid;
    const auto samples = samples_of(capture, number_of(*disk));
    REQUIRE(samples.size() == 1);
    CHECK(samples[0].device_name == name_of(*disk));
    CHECK(samples[0].heaviest_pid == pid);
    CHECK(samples[0].heaviest_bytes == mib * kMiB);
    CHECK(samples[0].written_bytes == mib * kMiB);
    mib = 1;
  }
}

TEST_CASE("who asks what lives takes nothing from the next sample of a device") {
  const auto disk = scratch_disk();
  if (!disk) return;
  std::vector<tracer::DeviceSample> samples;
  tracer::Session session(once());
  const auto subscription = session.on<tracer::DeviceSample>([&](const tracer::DeviceSample& sample) {
    if (sample.device == number_of(*disk)) samples.push_back(sample);
  });
  session.start();
  const pid_t pid = ::fork();
  if (pid == 0) truth::execute(truth::call("use_disk", {disk->path(), "8", "0"}));
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
  session.living();
  session.stop();
  for (const tracer::FamilyState& state : session.families())
    if (state.family == tracer::Family::kDisks && !state.active) return;
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].written_bytes == 8 * kMiB);
}
