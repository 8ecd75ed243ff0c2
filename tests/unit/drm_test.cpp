// SPDX-License-Identifier: Apache-2.0
/// What drivers of GPUs say of open files, in a tree of files that stands for /proc and /sys.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "source/proc/drm_clients.hpp"
#include "source/proc/drm_fdinfo.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMiB = 1u << 20;

DrmText parse(const std::string& text, DrmClient& client) { return parse_drm_fdinfo(text, client); }

std::string amdgpu(unsigned client, std::uint64_t gfx_ns, std::uint64_t vram_kib,
                   const std::string& pdev = "0000:03:00.0") {
  return "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t" + std::to_string(client) + "\ndrm-pdev:\t" +
         pdev + "\npasid:\t32769\ndrm-memory-vram:\t" + std::to_string(vram_kib) + " KiB\ndrm-memory-gtt: \t7 KiB\n" +
         "drm-engine-gfx:\t" + std::to_string(gfx_ns) + " ns\ndrm-engine-dec:\t1 ns\n";
}

/// /proc and /sys of a machine with two cards, and a clock.
class Machine {
 public:
  Machine() {
    card("card0", "renderD128", "0000:03:00.0", "amdgpu");
    card("card1", "renderD129", "0000:04:00.0", "amdgpu");
    fs::create_directories(sys("class/drm/card0-DP-1"));
  }

  void card(const std::string& name, const std::string& node, const std::string& place, const std::string& driver) {
    const fs::path device = folder_.folder() / "devices" / place;
    fs::create_directories(device);
    fs::create_directories(folder_.folder() / "drivers" / driver);
    fs::create_symlink(folder_.folder() / "drivers" / driver, device / "driver");
    for (const std::string& each : {name, node}) {
      if (each.empty()) continue;
      fs::create_directories(sys("class/drm/" + each));
      fs::create_symlink(device, sys("class/drm/" + each + "/device"));
    }
  }
  void attribute(const std::string& place, const std::string& name, const std::string& text) {
    std::ofstream(folder_.folder() / "devices" / place / name) << text;
  }
  void open(unsigned pid, unsigned fd, const std::string& target, const std::string& fdinfo) {
    const fs::path process = folder_.folder() / "proc" / std::to_string(pid);
    fs::create_directories(process / "fd");
    fs::create_directories(process / "fdinfo");
    const fs::path link = process / "fd" / std::to_string(fd);
    if (!fs::is_symlink(link)) fs::create_symlink(target, link);
    std::ofstream(process / "fdinfo" / std::to_string(fd)) << fdinfo;
  }
  void close(unsigned pid, unsigned fd) {
    fs::remove(folder_.folder() / "proc" / std::to_string(pid) / "fd" / std::to_string(fd));
  }
  DrmClients::Options options() {
    return {.proc = (folder_.folder() / "proc").string(),
            .sys = (folder_.folder() / "sys").string(),
            .lives = [this](std::uint32_t pid, std::uint64_t) { return pid != gone; },
            .now_ns = [this] { return now_ns; }};
  }
  std::string sys(const std::string& path) const { return (folder_.folder() / "sys" / path).string(); }

  std::uint64_t now_ns = 100 * kSecond;
  std::uint32_t gone = 0;  ///< Ends while it is read.

 private:
  TempFile folder_;
};

std::vector<GpuRecord> read(DrmClients& clients, const DrmClients::Processes& processes) {
  return clients.read(processes, [] {});
}

}  // namespace

TEST_CASE("the text of a client: driver, place, memory of the device, engines") {
  DrmClient client;
  REQUIRE(parse(amdgpu(17, 500, 2048), client) == DrmText::kClient);
  CHECK(client.driver == "amdgpu");
  CHECK(client.pci_device == "0000:03:00.0");
  CHECK(client.id == 17);
  CHECK(client.memory_bytes == 2 * kMiB);
  CHECK(client.engines.at("gfx").busy_ns == 500);
}

TEST_CASE("what is resident counts before what was asked for, and a device without memory takes the host's") {
  DrmClient client;
  REQUIRE(parse("drm-driver: i915\ndrm-client-id: 4\ndrm-total-system0: 8 MiB\ndrm-resident-system0: 4 MiB\n"
                "drm-shared-system0: 1 MiB\ndrm-total-stolen-system0: 512\ndrm-engine-capacity-video: 2\n"
                "drm-engine-video: 10 ns\n",
                client) == DrmText::kClient);
  CHECK(client.memory_bytes == 4 * kMiB + 512);
  CHECK(client.engines.at("video").capacity == 2);
}

TEST_CASE("files of other drivers, and clients without a figure, are none") {
  for (const char* text : {"", "pos:\t0\nflags:\t02\n", "drm-driver: nvidia-drm\ndrm-client-id: 1\n",
                           "drm-client-id: 1\n", "drm-driver: xe\ndrm-engine-rcs: 5 ns\n"}) {
    CAPTURE(text);
    DrmClient client;
    CHECK(parse(text, client) == DrmText::kNone);
  }
}

TEST_CASE("a text that makes no sense is refused as a whole") {
  std::string many;
  for (int i = 0; i < 100; ++i) many += "drm-engine-e" + std::to_string(i) + ": 1 ns\n";
  for (const std::string& more :
       {std::string("drm-engine-gfx: -5 ns\n"), std::string("drm-engine-gfx: 5 s\n"),
        std::string("drm-engine-gfx: 99999999999999999999 ns\n"), std::string("drm-memory-vram: 99999999999999 MiB\n"),
        std::string("drm-memory-vram: 4 GiB\n"), std::string("drm-engine-capacity-gfx: 0\n"),
        std::string("drm-engine-: 5 ns\n"), "drm-engine-" + std::string(100, 'a') + ": 5 ns\n",
        std::string("drm-client-id: x\n"), std::string("drm-pdev: a\x1b[2J\n"), many}) {
    CAPTURE(more);
    DrmClient client;
    CHECK(parse("drm-driver: amdgpu\ndrm-client-id: 1\n" + more, client) == DrmText::kRefused);
  }
}

TEST_CASE("a process that has a GPU open is sampled: memory at once, busy time from the second read on") {
  Machine machine;
  machine.attribute("0000:03:00.0", "mem_info_vram_total", "17179869184\n");
  machine.attribute("0000:03:00.0", "mem_info_vram_used", "1073741824\n");
  machine.open(42, 0, "/dev/null", "pos:\t0\n");
  machine.open(42, 5, "/dev/dri/renderD128", amdgpu(1, 10 * kSecond, 2048));
  DrmClients clients(machine.options());
  auto records = read(clients, {{42, 7}, {43, 8}});
  REQUIRE(records.size() == 1);
  CHECK(records[0].pid == 42);
  CHECK(records[0].start_ns == 7);
  const GpuSample& first = records[0].sample;
  CHECK(first.gpu == "card0");
  CHECK(first.gpu_name == "amdgpu");
  CHECK(first.memory_bytes == 2 * kMiB);
  CHECK(first.gpu_memory_bytes == 1024 * kMiB);
  CHECK(first.gpu_capacity_bytes == 16384 * kMiB);
  CHECK_FALSE(first.since_ns.has_value());
  CHECK_FALSE(first.busy_ns.has_value());

  machine.now_ns += kSecond;
  machine.open(42, 5, "", amdgpu(1, 10 * kSecond + 250'000'000, 1024));
  records = read(clients, {{42, 7}});
  REQUIRE(records.size() == 1);
  CHECK(records[0].sample.since_ns == 100 * kSecond);
  CHECK(records[0].sample.time_ns == 101 * kSecond);
  CHECK(records[0].sample.busy_ns == 250'000'000u);
  CHECK(records[0].sample.memory_bytes == kMiB);

  // A figure that falls for a moment is no time that passed backwards.
  machine.now_ns += kSecond;
  machine.open(42, 5, "", amdgpu(1, 10 * kSecond, 1024));
  CHECK(read(clients, {{42, 7}})[0].sample.busy_ns == 0);
  machine.now_ns += kSecond;
  machine.open(42, 5, "", amdgpu(1, 10 * kSecond + 350'000'000, 1024));
  CHECK(read(clients, {{42, 7}})[0].sample.busy_ns == 100'000'000u);
  machine.close(42, 5);
  CHECK(read(clients, {{42, 7}}).empty());
  CHECK(clients.refused() == 0);
}

TEST_CASE("a client counts once: in several descriptors, and in a child that shares it") {
  Machine machine;
  for (const unsigned fd : {5u, 6u, 9u}) machine.open(42, fd, "/dev/dri/card0", amdgpu(1, 0, 1024));
  machine.open(42, 7, "/dev/dri/card0", amdgpu(2, 0, 1024));
  machine.open(43, 5, "/dev/dri/card0", amdgpu(1, 0, 1024));
  machine.open(43, 8, "/dev/dri/card1", amdgpu(1, 0, 4096, "0000:04:00.0"));
  DrmClients clients(machine.options());
  for (int i = 0; i < 3; ++i) {
    machine.now_ns += kSecond;
    const auto records = read(clients, {{42, 7}, {43, 8}});
    REQUIRE(records.size() == 2);
    CHECK(records[0].pid == 42);
    CHECK(records[0].sample.memory_bytes == 2 * kMiB);
    CHECK(records[1].pid == 43);
    CHECK(records[1].sample.gpu == "card1");
    CHECK(records[1].sample.memory_bytes == 4 * kMiB);
  }
  // The parent has ended: what it shared is the child's now.
  CHECK(read(clients, {{43, 8}}).size() == 2);
}

TEST_CASE("engines of one kind share their time, other kinds run beside them, and cycles are as good as times") {
  Machine machine;
  const auto xe = [](std::uint64_t cycles, std::uint64_t total) {
    return "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:04:00.0\ndrm-cycles-ccs:\t" + std::to_string(cycles) +
           "\ndrm-total-cycles-ccs:\t" + std::to_string(total) + "\ndrm-engine-capacity-ccs:\t2\n";
  };
  machine.open(42, 5, "/dev/dri/renderD129", xe(1000, 5000));
  DrmClients clients(machine.options());
  read(clients, {{42, 7}});
  machine.now_ns += kSecond;
  machine.open(42, 5, "", xe(1600, 6000));
  const auto records = read(clients, {{42, 7}});
  REQUIRE(records.size() == 1);
  CHECK(records[0].sample.gpu == "card1");
  CHECK(records[0].sample.busy_ns == 300'000'000u);
}

TEST_CASE("a driver that says more than is possible is not believed, and counted") {
  Machine machine;
  machine.attribute("0000:03:00.0", "mem_info_vram_total", "1048576\n");
  machine.open(42, 5, "/dev/dri/renderD128", amdgpu(1, 0, 1024));
  DrmClients clients(machine.options());
  read(clients, {{42, 7}});
  machine.now_ns += kSecond;
  machine.open(42, 5, "", amdgpu(1, 5 * kSecond, 2048));
  auto records = read(clients, {{42, 7}});
  REQUIRE(records.size() == 1);
  CHECK_FALSE(records[0].sample.busy_ns.has_value());
  CHECK_FALSE(records[0].sample.memory_bytes.has_value());
  CHECK(clients.refused() == 2);
  machine.open(42, 5, "", "drm-driver: amdgpu\ndrm-client-id: 1\ndrm-engine-gfx: nonsense\n");
  CHECK(read(clients, {{42, 7}}).empty());
  CHECK(clients.refused() == 3);
}

TEST_CASE("nothing is said of a process that ended meanwhile, nor under the pid of another") {
  Machine machine;
  machine.open(42, 5, "/dev/dri/renderD128", amdgpu(1, 0, 1024));
  DrmClients clients(machine.options());
  machine.gone = 42;
  CHECK(read(clients, {{42, 7}}).empty());
  machine.gone = 0;
  read(clients, {{42, 7}});
  machine.now_ns += kSecond;
  const auto records = read(clients, {{42, 9}});
  REQUIRE(records.size() == 1);
  CHECK(records[0].start_ns == 9);
  CHECK_FALSE(records[0].sample.since_ns.has_value());
}

TEST_CASE("a read looks at a bounded number of files, and goes on from there; known users come first") {
  Machine machine;
  DrmClients::Processes processes;
  for (unsigned pid = 1; pid <= 50; ++pid) {
    for (unsigned fd = 0; fd < 9; ++fd) machine.open(pid, fd, "/dev/null", "");
    processes[pid] = pid;
  }
  machine.open(50, 9, "/dev/dri/renderD128", amdgpu(1, 0, 1024));
  DrmClients::Options options = machine.options();
  options.most_links = 100;
  DrmClients clients(options);
  int reads = 0;
  while (read(clients, processes).empty()) REQUIRE(++reads < 10);
  CHECK(reads == 4);
  for (int i = 0; i < 10; ++i) CHECK(read(clients, processes).size() == 1);
  CHECK(clients.not_read() == 0);
}

TEST_CASE("files and clients beyond the bounds are counted") {
  Machine machine;
  for (unsigned fd = 0; fd < 20; ++fd) machine.open(42, fd, "/dev/dri/renderD128", amdgpu(fd, 0, 1024));
  DrmClients::Options options = machine.options();
  options.most_clients = 5;
  DrmClients few_clients(options);
  CHECK(read(few_clients, {{42, 7}})[0].sample.memory_bytes == 5 * kMiB);
  CHECK(few_clients.not_read() == 15);
  options.most_clients = 100;
  options.most_files = 7;
  DrmClients few_files(options);
  CHECK(read(few_files, {{42, 7}})[0].sample.memory_bytes == 7 * kMiB);
  CHECK(few_files.not_read() == 1);
}

TEST_CASE("drivers are those of devices that render, but for NVIDIA's") {
  Machine machine;
  CHECK(DrmClients::drivers(machine.sys("")) == "amdgpu");
  machine.card("card2", "renderD130", "0000:05:00.0", "nvidia");
  machine.card("card3", "", "0000:06:00.0", "ast");
  machine.card("card4", "renderD131", "0000:07:00.0", "xe");
  CHECK(DrmClients::drivers(machine.sys("")) == "amdgpu, xe");
  CHECK(DrmClients::drivers(machine.sys("nothing")).empty());
}
