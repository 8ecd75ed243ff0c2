// SPDX-License-Identifier: Apache-2.0
/// What the host used, which part of it belonged to tasks, and what a machine says of itself.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <unistd.h>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/event.hpp>

#include "collect.hpp"
#include "rules/host_rules.hpp"
#include "source/proc/host_reader.hpp"
#include "temp_file.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::Stages;
using wire::Who;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint32_t kTask = 7;

Who in_task(std::uint32_t pid, std::uint64_t start_ns) {
  return {.pid = pid, .start_ns = start_ns, .context_id = kTask, .comm = "sort"};
}
Who outside(std::uint32_t pid, std::uint64_t start_ns) { return {.pid = pid, .start_ns = start_ns, .comm = "agent"}; }

HostRecord host_at(std::uint64_t second, std::uint64_t used_s, std::uint64_t idle_s) {
  HostRecord record;
  record.time_ns = second * kSecond;
  record.cpus = 4;
  record.used_cpu_ns = used_s * kSecond;
  record.idle_cpu_ns = idle_s * kSecond;
  record.steal_cpu_ns = 0;
  record.memory_bytes = 1000 * kMiB;
  record.available_memory_bytes = 600 * kMiB;
  record.network_bytes = second * 100;
  record.storage_bytes = second * 10;
  return record;
}

wire::Bytes thread(const Who& who, std::uint64_t time_ns, std::uint64_t cpu_ns, std::uint64_t pages = 0) {
  wire::Thread thread{.time_ns = time_ns, .tid = who.pid};
  thread.own.cpu_ns = cpu_ns;
  thread.anonymous_pages = pages;
  return wire::thread_record(who, thread);
}

/// A host with a task of which process 42 lives, and the process 50 outside of it.
struct Host : Stages {
  Host() {
    Context labels;
    labels.run = "r1";
    labels.step = "SORT";
    set_context(kTask, labels);
    push(wire::start_record(in_task(42, kSecond)));
    push(wire::start_record(outside(50, kSecond)));
  }
  std::optional<HostSample> snapshot(const HostRecord& host, std::initializer_list<wire::Bytes> threads) {
    correlator.begin_snapshot();
    push(Record(host));
    for (const wire::Bytes& each : threads) push(each);
    const auto found = collect::all_of<HostSample>(take_snapshot(host.time_ns + 1, Correlator::Folding::kNone));
    REQUIRE(found.size() <= 1);
    return found.empty() ? std::nullopt : std::optional(found[0]);
  }
};

class Root {
 public:
  void write(const std::string& path, const std::string& text) const {
    const auto file = folder_.folder() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  HostRecord read() const { return HostReader(folder_.folder().string()).read(); }

 private:
  TempFile folder_;
};

}  // namespace

TEST_CASE("the first figures only say where the sums begin") {
  Host host;
  CHECK_FALSE(host.snapshot(host_at(10, 5, 35), {thread(in_task(42, kSecond), 10 * kSecond, 3 * kSecond)}).has_value());
}

TEST_CASE("the CPU time of tasks is what their processes used since, whether they live or have ended") {
  Host host;
  const Who task = in_task(42, kSecond);
  const Who agent = outside(50, kSecond);
  host.snapshot(host_at(10, 5, 35), {thread(task, 10 * kSecond, 3 * kSecond), thread(agent, 10 * kSecond, kSecond)});
  const Who shortly = in_task(43, 12 * kSecond);
  host.push(wire::start_record(shortly));
  wire::Exit exit{.time_ns = 15 * kSecond, .program_start_ns = shortly.start_ns};
  exit.total.cpu_ns = 2 * kSecond;
  host.push(wire::exit_record(shortly, exit));
  const auto sample = host.snapshot(
      host_at(20, 19, 61), {thread(task, 20 * kSecond, 10 * kSecond, 25600), thread(agent, 20 * kSecond, 4 * kSecond)});
  REQUIRE(sample.has_value());
  CHECK(sample->time_ns == 20 * kSecond);
  CHECK(sample->since_ns == 10 * kSecond);
  CHECK(sample->cpus == 4);
  CHECK(sample->task_cpu_ns == 9 * kSecond);
  CHECK(sample->system_cpu_ns == 5 * kSecond);
  CHECK(sample->idle_cpu_ns == 26 * kSecond);
  CHECK(sample->steal_cpu_ns == 0);
  CHECK(*sample->task_cpu_ns + *sample->system_cpu_ns + *sample->idle_cpu_ns == 40 * kSecond);
  CHECK(sample->task_memory_bytes == 100 * kMiB);
  CHECK(sample->available_memory_bytes == 600 * kMiB);
  CHECK(sample->system_memory_bytes == 300 * kMiB);
  CHECK(sample->tasks == 1);
  CHECK(sample->network_bytes == 1000);
  CHECK(sample->storage_bytes == 100);
  CHECK_FALSE(sample->provider.has_value());
}

TEST_CASE("what a process of a task used before it ended counts once") {
  Host host;
  const Who task = in_task(42, kSecond);
  host.snapshot(host_at(10, 5, 35), {thread(task, 10 * kSecond, 3 * kSecond)});
  wire::Exit exit{.time_ns = 15 * kSecond, .program_start_ns = task.start_ns};
  exit.total.cpu_ns = 4 * kSecond;
  host.push(wire::exit_record(task, exit));
  const auto sample = host.snapshot(host_at(20, 7, 73), {});
  CHECK(sample->task_cpu_ns == kSecond);
  CHECK(sample->tasks == 0);
  CHECK(sample->task_memory_bytes == 0);
  CHECK(host.snapshot(host_at(30, 8, 112), {})->task_cpu_ns == 0);
}

TEST_CASE("a process of a task that no earlier snapshot had, though it lived, leaves the CPU time unknown") {
  Host host;
  host.snapshot(host_at(10, 5, 35), {});
  const auto sample = host.snapshot(host_at(20, 7, 73), {thread(in_task(42, kSecond), 20 * kSecond, 4 * kSecond)});
  CHECK_FALSE(sample->task_cpu_ns.has_value());
  CHECK_FALSE(sample->system_cpu_ns.has_value());
  CHECK(sample->idle_cpu_ns == 38 * kSecond);
}

TEST_CASE("a count of the kernel that falls is unknown") {
  Host host;
  host.snapshot(host_at(10, 5, 35), {});
  auto later = host_at(20, 7, 30);
  later.network_bytes = 0;
  const auto sample = host.snapshot(later, {});
  CHECK_FALSE(sample->idle_cpu_ns.has_value());
  CHECK_FALSE(sample->network_bytes.has_value());
  CHECK(sample->system_cpu_ns == 2 * kSecond);
}

TEST_CASE("a snapshot that failed leaves its figures to the next") {
  Host host;
  host.snapshot(host_at(10, 5, 35), {});
  host.correlator.begin_snapshot();
  host.push(Record(host_at(15, 6, 54)));
  const auto sample = host.snapshot(host_at(20, 7, 73), {});
  CHECK(sample->since_ns == 10 * kSecond);
  CHECK(sample->idle_cpu_ns == 38 * kSecond);
}

TEST_CASE("the kernel's files are read as they are") {
  Root root;
  root.write("proc/stat",
             "cpu  100 10 50 1000 5 1 4 20 30 0\ncpu0 50 5 25 500 2 1 2 10 15 0\ncpu3 50 5 25 500 3 0 2 10 15 0\n"
             "intr 123 4 5\nctxt 99\n");
  root.write("proc/meminfo", "MemTotal:       2048 kB\nMemFree:         100 kB\nMemAvailable:   1024 kB\n");
  root.write("proc/net/dev",
             "Inter-|   Receive                                                |  Transmit\n"
             " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls\n"
             "    lo:  9999 1 0 0 0 0 0 0  9999 1 0 0 0 0 0 0\n"
             "  eth0:100 1 0 0 0 0 0 0  200 1 0 0 0 0 0 0\n"
             "docker0: 7000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n");
  root.write("proc/diskstats",
             " 254       0 vda 10 0 16 3 20 0 4 9 0 1 2\n 254       1 vda1 10 0 16 3 20 0 4 9 0 1 2\n"
             " 7 0 loop0 10 0 1600 3 20 0 4 9 0 1 2\n");
  root.write("sys/block/vda/device/vendor", "");
  root.write("sys/block/loop0/size", "");
  HostRecord record = root.read();
  CHECK(record.cpus == 2);
  const std::uint64_t tick_ns = kSecond / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  CHECK(record.used_cpu_ns == 165 * tick_ns);
  CHECK(record.idle_cpu_ns == 1005 * tick_ns);
  CHECK(record.steal_cpu_ns == 20 * tick_ns);
  CHECK(record.memory_bytes == 2 * kMiB);
  CHECK(record.available_memory_bytes == kMiB);
  CHECK(record.network_bytes == 14300);
  CHECK(record.storage_bytes == 20 * 512);
  CHECK_FALSE(record.provider.has_value());

  // What goes through a bridge goes through a device, too.
  root.write("sys/class/net/eth0/device/vendor", "");
  CHECK(root.read().network_bytes == 300);
}

TEST_CASE("without the kernel's files, and where these say something else, nothing is known") {
  Root root;
  HostRecord record = root.read();
  CHECK(record.time_ns != 0);
  CHECK(record.cpus == 0);
  CHECK_FALSE(record.used_cpu_ns.has_value());
  CHECK_FALSE(record.memory_bytes.has_value());
  CHECK_FALSE(record.network_bytes.has_value());
  CHECK_FALSE(record.storage_bytes.has_value());
  root.write("proc/stat", "cpu  100 -1 50 1000\n\n:\n");
  root.write("proc/meminfo", "MemTotal: much kB\n");
  root.write("proc/net/dev", "eth0 1 2\n");
  root.write("proc/diskstats", "254\n");
  record = root.read();
  CHECK_FALSE(record.used_cpu_ns.has_value());
  CHECK_FALSE(record.memory_bytes.has_value());
  CHECK_FALSE(record.network_bytes.has_value());
}

TEST_CASE("a machine of a provider says what it is") {
  Root root;
  root.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  root.write("sys/class/dmi/id/product_name", "m6i.4xlarge\n");
  root.write("sys/class/dmi/id/board_asset_tag", "i-0b6801031945d832a\n");
  const HostRecord record = root.read();
  CHECK(record.provider == "aws");
  CHECK(record.instance_type == "m6i.4xlarge");
  CHECK(record.instance_id == "i-0b6801031945d832a");
}

TEST_CASE("the examples of the rules for hosts come out as they say") {
  CHECK(HostRules::builtin().examples().size() >= 5);
  for (const HostExample& example : HostRules::builtin().examples()) {
    const auto read = [&](const std::string& file) -> std::optional<std::string> {
      const auto found = example.dmi.find(file);
      return found == example.dmi.end() ? std::nullopt : std::optional(found->second + "\n");
    };
    CAPTURE(*example.identity.provider);
    CHECK(HostRules::builtin().identity_of(read) == example.identity);
  }
}

TEST_CASE("what a machine says is taken only where it has the form of a type or an id") {
  const std::map<std::string, std::string> said{
      {"sys_vendor", "Amazon EC2"}, {"product_name", "m6i.4xlarge; rm -rf"}, {"board_asset_tag", "i-0b68/../etc"}};
  const auto identity = HostRules::builtin().identity_of([&](const std::string& file) -> std::optional<std::string> {
    const auto found = said.find(file);
    return found == said.end() ? std::nullopt : std::optional(found->second);
  });
  CHECK(identity.provider == "aws");
  CHECK_FALSE(identity.instance_type.has_value());
  CHECK_FALSE(identity.instance_id.has_value());
  CHECK(HostRules::builtin().identity_of([](const std::string&) { return std::nullopt; }) == HostIdentity());
}

TEST_CASE("mistakes in rules for hosts are reported all at once") {
  try {
    HostRules::parse(
        "schema = 1\n[[host]]\nprovider = \"x\"\nalso = { \"a/b\" = \"*\" }\ninstance_id = \"{id}\"\nmore = 1\n",
        "mine.toml");
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalidRules);
    CHECK(error.problems().size() == 5);
  }
}
