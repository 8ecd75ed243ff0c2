// SPDX-License-Identifier: Apache-2.0
/// What is made of the lines of tracer-gpu, and of a tracer-gpu that ends, hangs or lies.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "base/clock.hpp"
#include "collect.hpp"
#include "source/gpu/nvml_helper.hpp"
#include "source/gpu/nvml_state.hpp"
#include "source/gpu/nvml_uses.hpp"
#include "temp_file.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::Stages;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr const char* kState =
    "nvml 12.550.54 (driver 550.54)\nstate 5000\ndevice 0 1000 600 70 GPU-1 NVIDIA A100-SXM4\nprocess 42 500 30\n"
    "process 43 - -\ndevice 7 - - - - -\nend\n";

/// Of a device with one process.
NvmlState state_at(std::uint64_t time_ns, std::uint64_t busy_ns, std::uint64_t gpu_busy_ns) {
  NvmlState state;
  state.time_ns = time_ns;
  NvmlDevice& device = state.devices.emplace_back();
  device.capacity_bytes = 1000;
  device.memory_bytes = 600;
  device.busy_ns = gpu_busy_ns;
  device.name = "A100";
  device.processes = {{42, 500, busy_ns}};
  return state;
}

/// A script in place of tracer-gpu.
class Script {
 public:
  explicit Script(const std::string& text) {
    std::ofstream(file_.path()) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(file_.path(), std::filesystem::perms::owner_all);
  }
  std::string path() const { return file_.path().string(); }

 private:
  TempFile file_;
};

/// Answers each question as `answer` says, which is shell.
std::string answering(const std::string& answer) {
  return "echo 'nvml 1 (driver 2)'\nwhile read -r line; do\n" + answer + "\ndone\n";
}

constexpr const char* kAnswer = "printf 'state 5000\\ndevice 0 1000 600 70 u n\\nprocess 42 500 30\\nend\\n'";

std::string why_not_started(const std::string& script, NvmlHelper::Limits limits = {}) {
  const Script program(script);
  NvmlHelper helper(program.path(), limits);
  try {
    helper.start();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kNoGpu);
    CHECK_FALSE(helper.works());
    return error.problems().front().what;
  }
  return "started";
}

std::optional<NvmlState> asked_until(NvmlHelper& helper, const std::function<bool()>& enough) {
  std::optional<NvmlState> last;
  for (int i = 0; i < 3000 && !enough(); ++i) {
    if (auto state = helper.ask()) last = std::move(state);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(enough());
  return last;
}

}  // namespace

TEST_CASE("lines become a state, however they are cut") {
  for (const std::size_t part : {1u, 7u, 1000u}) {
    NvmlLines lines;
    const std::string text = kState;
    for (std::size_t at = 0; at < text.size(); at += part) {
      CHECK_FALSE(lines.take_state().has_value());
      lines.take(std::string_view(text).substr(at, part));
    }
    CHECK(lines.version() == "12.550.54 (driver 550.54)");
    const auto state = lines.take_state();
    REQUIRE(state.has_value());
    CHECK(state->time_ns == 5000);
    REQUIRE(state->devices.size() == 2);
    const NvmlDevice& device = state->devices[0];
    CHECK(device.capacity_bytes == 1000);
    CHECK(device.memory_bytes == 600);
    CHECK(device.busy_ns == 70);
    CHECK(device.uuid == "GPU-1");
    CHECK(device.name == "NVIDIA A100-SXM4");
    REQUIRE(device.processes.size() == 2);
    CHECK(device.processes[0].pid == 42);
    CHECK(device.processes[0].memory_bytes == 500);
    CHECK(device.processes[0].busy_ns == 30);
    CHECK_FALSE(device.processes[1].memory_bytes.has_value());
    CHECK_FALSE(state->devices[1].name.has_value());
    CHECK(lines.refused() == 0);
  }
}

TEST_CASE("a line that lies or makes no sense is left out, and counted") {
  for (const std::string& line :
       {std::string("process 44 1001 0"), std::string("process 42 1 0"), std::string("process 0 1 0"),
        std::string("process -1 1 0"), std::string("process 4294967295 1 0"), std::string("process 44 1"),
        std::string("process 44 1 0 x"), std::string("process 44 99999999999999999999 0"), std::string("nonsense"),
        std::string(""), std::string("process 44 1 0\x1b"), std::string(100'000, 'x')}) {
    CAPTURE(line.substr(0, 40));
    NvmlLines lines;
    lines.take("state 5000\ndevice 0 1000 600 70 u n\nprocess 42 500 30\n" + line + "\nend\n");
    CHECK(lines.refused() == 1);
    const auto state = lines.take_state();
    REQUIRE(state.has_value());
    CHECK(state->devices[0].processes.size() == 1);
  }
}

TEST_CASE("of a device that lies nothing is believed, nor of its processes") {
  for (const char* device : {"device 0 1000 1001 70 u n", "device x 1000 1 70 u n", "device 0 1000 1 70 u",
                             "device 0 1000 1 70 u \x1b[2J", "device 99999999 1 1 1 u n"}) {
    CAPTURE(device);
    NvmlLines lines;
    lines.take(std::string("state 5000\n") + device + "\nprocess 42 1 1\nend\n");
    CHECK(lines.refused() == 2);
    CHECK(lines.take_state()->devices.empty());
  }
  NvmlLines twice;
  twice.take("state 1\ndevice 0 1 1 1 u n\ndevice 0 1 1 1 u n\nprocess 42 1 1\nend\nend\nprocess 1 1 1\n");
  CHECK(twice.refused() == 4);
  CHECK(twice.take_state()->devices[0].processes.empty());
}

TEST_CASE("a flood of devices and processes is bounded") {
  NvmlLines lines;
  std::string text = "state 1\n";
  for (int i = 0; i < 1000; ++i) text += "device " + std::to_string(i) + " - - - - -\n";
  lines.take(text + "end\n");
  CHECK(lines.take_state()->devices.size() == 64);
  text = "state 2\ndevice 0 - - - - -\n";
  for (int i = 1; i <= 5000; ++i) text += "process " + std::to_string(i) + " - -\n";
  lines.take(text + "end\n");
  CHECK(lines.take_state()->devices[0].processes.size() == 4096);
}

TEST_CASE("uses are differences between two states, for followed processes only") {
  NvmlUses uses;
  const NvmlUses::Processes processes{{42, 100}};
  auto records = uses.take(state_at(10 * kSecond, 5 * kSecond, 6 * kSecond), processes, 100 * kSecond);
  REQUIRE(records.size() == 1);
  CHECK(records[0].pid == 42);
  CHECK(records[0].start_ns == 100);
  const GpuSample& first = records[0].sample;
  CHECK(first.time_ns == 10 * kSecond);
  CHECK(first.gpu == "nvidia0");
  CHECK(first.gpu_name == "A100");
  CHECK(first.memory_bytes == 500);
  CHECK(first.gpu_memory_bytes == 600);
  CHECK(first.gpu_capacity_bytes == 1000);
  CHECK_FALSE(first.since_ns.has_value());
  CHECK_FALSE(first.busy_ns.has_value());
  CHECK_FALSE(first.gpu_busy_ns.has_value());
  // The same state again says nothing new.
  CHECK(uses.take(state_at(10 * kSecond, 5 * kSecond, 6 * kSecond), processes, 100 * kSecond).empty());
  records = uses.take(state_at(12 * kSecond, 6 * kSecond, 8 * kSecond), processes, 100 * kSecond);
  REQUIRE(records.size() == 1);
  CHECK(records[0].sample.since_ns == 10 * kSecond);
  CHECK(records[0].sample.busy_ns == kSecond);
  CHECK(records[0].sample.gpu_busy_ns == 2 * kSecond);
  CHECK(uses.take(state_at(13 * kSecond, 6 * kSecond, 8 * kSecond), {{7, 1}}, 100 * kSecond).empty());
  CHECK(uses.refused() == 0);
  // Sums that begin anew are no time that passed.
  uses.begin_anew();
  records = uses.take(state_at(14 * kSecond, 0, 0), processes, 100 * kSecond);
  CHECK_FALSE(records.at(0).sample.since_ns.has_value());
}

TEST_CASE("more than 100 %, times that fall, and states of the future or the past are refused") {
  NvmlUses uses;
  const NvmlUses::Processes processes{{42, 100}};
  uses.take(state_at(10 * kSecond, 5 * kSecond, 5 * kSecond), processes, 100 * kSecond);
  auto records = uses.take(state_at(11 * kSecond, 8 * kSecond, 4 * kSecond), processes, 100 * kSecond);
  REQUIRE(records.size() == 1);
  CHECK_FALSE(records[0].sample.busy_ns.has_value());
  CHECK_FALSE(records[0].sample.gpu_busy_ns.has_value());
  CHECK(records[0].sample.memory_bytes == 500);
  CHECK(uses.refused() == 2);
  CHECK(uses.take(state_at(200 * kSecond, 8 * kSecond, 4 * kSecond), processes, 100 * kSecond).empty());
  CHECK(uses.take(state_at(9 * kSecond, 8 * kSecond, 4 * kSecond), processes, 100 * kSecond).empty());
  CHECK(uses.refused() == 4);
}

TEST_CASE("a process that began after the driver was asked is another than it named") {
  NvmlUses uses;
  CHECK(uses.take(state_at(10 * kSecond, 0, 0), {{42, 11 * kSecond}}, 100 * kSecond).empty());
}

TEST_CASE("a use becomes an event of the process, unless that has ended or the filter leaves it out") {
  const wire::Who user{.pid = 42, .start_ns = 1000, .comm = "python"};
  GpuRecord record;
  record.pid = 42;
  record.start_ns = 1000;
  record.sample.time_ns = 5000;
  record.sample.gpu = "nvidia0";
  record.sample.memory_bytes = 7;
  Stages stages;
  stages.push(wire::start_record(user));
  stages.push(Record(record));
  const auto sample = stages.last<GpuSample>();
  CHECK(sample.process->pid == 42);
  CHECK(sample.process->program->comm == "python");
  CHECK(sample.time_ns == 5000);
  CHECK(sample.memory_bytes == 7);
  record.start_ns = 999;
  stages.push(Record(record));
  CHECK(stages.all<GpuSample>().size() == 1);
  record.start_ns = 1000;
  stages.push(wire::exit_record(user, {.time_ns = 4500, .program_start_ns = 1000}));
  stages.push(Record(record));
  CHECK(stages.all<GpuSample>().size() == 1);

  Stages filtered(Filter().exclude_tool("sort"));
  filtered.push(wire::start_record(user));
  filtered.push(
      wire::exec_record(user, {.time_ns = 1500, .program_start_ns = 1000, .exe = "/bin/sort", .argv = {"sort"}}));
  filtered.push(Record(record));
  CHECK(filtered.all<GpuSample>().empty());
}

TEST_CASE("tracer-gpu is asked for its state") {
  const Script program(answering(kAnswer));
  NvmlHelper helper(program.path());
  helper.start();
  CHECK(helper.version() == "1 (driver 2)");
  CHECK(helper.works());
  std::optional<NvmlState> state;
  state = asked_until(helper, [&, asked = 0]() mutable { return ++asked > 5; });
  REQUIRE(state.has_value());
  CHECK(state->devices.at(0).processes.at(0).pid == 42);
  CHECK_FALSE(helper.problem().has_value());
  CHECK_FALSE(helper.take_restarted());
}

TEST_CASE("it gets no environment and no open files of ours") {
  const Script program(
      answering("env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= > \"$0.env\"\n" + std::string(kAnswer)));
  ::setenv("TRACER_TEST_SECRET", "1", 1);
  NvmlHelper helper(program.path());
  helper.start();
  std::optional<NvmlState> state;
  for (int i = 0; i < 3000 && !state; ++i) state = helper.ask();
  ::unsetenv("TRACER_TEST_SECRET");
  REQUIRE(state.has_value());
  std::ifstream file(program.path() + ".env");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.empty());
}

TEST_CASE("where it does not start, the reason is said") {
  CHECK(why_not_started("echo 'failed no such library'\nexit 3\n") == "no such library");
  CHECK(why_not_started("exit 0\n") == "tracer-gpu ended while it loaded NVIDIA's management library");
  CHECK(why_not_started("exec sleep 100\n", {.start = std::chrono::milliseconds(100)}) ==
        "NVIDIA's management library hangs");
  CHECK(why_not_started("while :; do echo lies; done\n", {.start = std::chrono::milliseconds(100)}) ==
        "NVIDIA's management library hangs");
  NvmlHelper none("/nonexistent/tracer-gpu");
  CHECK_THROWS_AS(none.start(), Error);
}

TEST_CASE("one that ends is started again, at most so often, and is then named") {
  const Script program(answering("exit 1"));
  NvmlHelper helper(program.path(), {.most_restarts = 2});
  helper.start();
  asked_until(helper, [&] { return !helper.works(); });
  REQUIRE(helper.problem().has_value());
  CHECK(helper.problem()->code == ErrorCode::kNoGpu);
  CHECK(helper.problem()->what == "tracer-gpu, which asks NVIDIA's management library, ended 3 times");
  CHECK(helper.take_restarted());
  CHECK_FALSE(helper.ask().has_value());
}

TEST_CASE("one that hangs is killed and started again") {
  const Script program(
      answering("if [ -e \"$0.hung\" ]; then " + std::string(kAnswer) + "; else : > \"$0.hung\"; exec sleep 100; fi"));
  NvmlHelper helper(program.path(), {.answer = std::chrono::milliseconds(200)});
  helper.start();
  bool answered = false;
  bool restarted = false;
  for (int i = 0; i < 3000 && !answered; ++i) {
    answered = helper.ask().has_value();
    restarted = helper.take_restarted() || restarted;
  }
  CHECK(answered);
  CHECK(restarted);
  CHECK(helper.works());
}

TEST_CASE("one that floods its pipe does not keep its reader") {
  const Script program(answering("while :; do echo 'process 1 1 1'; done"));
  NvmlHelper helper(program.path(), {.answer = std::chrono::milliseconds(300), .most_restarts = 0});
  helper.start();
  asked_until(helper, [&] { return !helper.works(); });
  CHECK(helper.refused() > 0);
}
