// SPDX-License-Identifier: Apache-2.0
/// What is called slow, from where on.
#include <cstdint>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "insight_story.hpp"

using namespace tracer;
using story::Pace;
using story::Task;

namespace {

/// Of a task of one process that lives so for 20 s; the story is over.
Task lived(const Pace& pace, std::uint64_t seconds = 20, std::uint32_t cpus = 2) {
  Task task(cpus);
  task.begin({.pid = 1, .tool = "bwa mem", .pace = pace});
  task.live(seconds);
  task.finish();
  return task;
}

/// Nothing but this one, open while the task lived and closed at its end.
void check_only(const Task& task, std::string_view code) {
  REQUIRE(task.last(code) != nullptr);
  CHECK(task.findings.front().state == "open");
  CHECK(task.last(code)->state == "closed");
  for (const Finding& each : task.findings) CHECK(each.code == code);
}

}  // namespace

TEST_CASE("a task that waits for one thing is called so, by what it waits for") {
  const Pace paces[] = {{.running = 700, .disk = 300},
                        {.running = 800, .throttled = 200},
                        {.running = 500, .network = 500},
                        {.running = 800, .reclaim = 200}};
  const std::string_view codes[] = {"disk_wait", "cpu_limited", "network_wait", "memory_pressure"};
  const std::uint64_t shares[] = {30, 20, 50, 20};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(codes[i]);
    const Task task = lived(paces[i]);
    check_only(task, codes[i]);
    const Finding& finding = *task.last(codes[i]);
    CHECK(finding.subject == "task");
    CHECK(finding.confidence == "high");
    CHECK(finding.tool == "bwa mem");
    CHECK(story::value(finding, "percent") >= shares[i] - 1);
    CHECK(story::value(finding, "percent") <= shares[i]);
    CHECK(story::value(finding, "wall_ns") == 20 * story::kSecond - 1);
    CHECK(finding.text.find("task ALIGN (S7)") != std::string::npos);
    CHECK(finding.text.find('?') == std::string::npos);
  }
}

TEST_CASE("just below their limits waits are no finding") {
  CHECK(lived({.running = 760, .disk = 240}).findings.empty());
  CHECK(lived({.running = 860, .throttled = 140}).findings.empty());
  CHECK(lived({.running = 610, .network = 390}).findings.empty());
  CHECK(lived({.running = 910, .reclaim = 90}).findings.empty());
  CHECK(lived({.disk = 1000}, 9).findings.empty());
  CHECK(lived({.running = 1000}).findings.empty());
}

TEST_CASE("of several waits the largest is said, and others only for a large share of their own") {
  const Task one = lived({.running = 300, .disk = 390, .network = 310});
  check_only(one, "disk_wait");
  const Task two = lived({.running = 100, .disk = 480, .network = 420});
  CHECK(two.last("disk_wait") != nullptr);
  CHECK(two.last("network_wait") != nullptr);
}

TEST_CASE("a wait for storage names the device, where most of it is known to be for that") {
  const Task known = lived({.running = 300, .disk = 700, .device = "vda", .device_percent = 60});
  REQUIRE(known.last("disk_wait") != nullptr);
  CHECK(story::text(*known.last("disk_wait"), "device") == "vda");
  CHECK(known.last("disk_wait")->text.ends_with("above all bwa mem, for the device vda"));
  const Task unknown = lived({.running = 300, .disk = 700, .device = "vda", .device_percent = 40});
  REQUIRE(unknown.last("disk_wait") != nullptr);
  CHECK(unknown.last("disk_wait")->text.ends_with("above all bwa mem"));
}

TEST_CASE("pages of mapped files are waits for storage, unless the kernel had to free memory") {
  const Task files = lived({.running = 500, .swap = 500});
  check_only(files, "disk_wait");
  CHECK(files.last("disk_wait")->confidence == "medium");
  check_only(lived({.running = 500, .reclaim = 200, .swap = 300}), "memory_pressure");
}

TEST_CASE("what downloads waits for the network by nature") {
  Task task;
  task.begin({.pid = 1, .tool = "curl", .pace = {.running = 100, .network = 900}});
  task.live(20);
  task.finish();
  CHECK(task.findings.empty());
}

TEST_CASE("a wait that becomes a small part of the time is closed as a note") {
  Task task;
  task.begin({.pid = 1, .tool = "STAR", .pace = {.running = 200, .disk = 800}});
  task.live(20);
  REQUIRE(task.last("disk_wait") != nullptr);
  CHECK(task.last("disk_wait")->severity == "warning");
  task.pace(1) = {.running = 1000};
  task.live(100);
  CHECK(task.last("disk_wait")->state == "closed");
  CHECK(task.last("disk_wait")->severity == "note");
}

TEST_CASE("more threads than CPUs") {
  const Task task = lived({.running = 1000, .threads = 8, .thread_cpu = 2000, .thread_queue = 6000});
  check_only(task, "oversubscribed");
  const Finding& finding = *task.last("oversubscribed");
  CHECK(story::value(finding, "percent") == 75);
  CHECK(story::value(finding, "threads") == 8);
  CHECK(story::text(finding, "cpus") == "2");
  // Others have the CPUs, and are not known.
  CHECK(lived({.running = 500, .run_queue = 500, .threads = 2, .thread_cpu = 1000, .thread_queue = 1000})
            .findings.empty());
  CHECK(lived({.running = 1000, .threads = 8, .thread_cpu = 2000, .thread_queue = 6000}, 9).findings.empty());
}

TEST_CASE("who stands in line for others has not too many threads of its own") {
  // 0.6 CPUs in all, of 2: somebody who is not followed has the rest.
  CHECK(lived({.running = 500, .run_queue = 500, .threads = 4, .thread_cpu = 600, .thread_queue = 2200})
            .findings.empty());
  const Task most = lived({.running = 1000, .threads = 4, .thread_cpu = 1600, .thread_queue = 2200});
  check_only(most, "oversubscribed");
}

TEST_CASE("two threads on the one CPU that they may use are too many") {
  const Pace pace{.running = 1000, .threads = 2, .thread_cpu = 1000, .thread_queue = 1000};
  CHECK(lived(pace).findings.empty());
  Task task;
  task.begin({.pid = 1, .tool = "bwa mem", .pace = pace});
  task.execute(1, 1);
  task.live(20);
  task.finish();
  check_only(task, "oversubscribed");
  CHECK(story::text(*task.last("oversubscribed"), "cpus") == "1");
}

TEST_CASE("threads that a program has pinned itself are too many for what they are pinned to") {
  const Pace pace{.running = 1000, .threads = 4, .thread_cpu = 1000, .thread_queue = 3000};
  for (const bool together : {false, true}) {
    Task task(8);
    task.insight().ask_this_host({}, {}, {}, [together](const std::vector<std::uint32_t>& pids) {
      CHECK(pids == std::vector<std::uint32_t>{1});
      return together ? std::set<std::uint32_t>{3} : std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7};
    });
    task.begin({.pid = 1, .tool = "bwa mem", .pace = pace});
    task.begin({.pid = 2, .tool = "bash", .pace = {.child = 1000}});
    task.execute(1, 8);
    task.live(20);
    task.finish();
    CAPTURE(together);
    REQUIRE((task.last("oversubscribed") != nullptr) == together);
    if (!together) continue;
    const Finding& finding = *task.last("oversubscribed");
    CHECK(story::text(finding, "cpus") == "1");
    CHECK(story::text(finding, "pinned_to") == "CPU 3");
    CHECK(finding.text.ends_with("those in line are pinned to CPU 3"));
  }
}

TEST_CASE("processes on one CPU each have together as many as they are, unless one started the other") {
  for (const bool one_starts_the_other : {false, true}) {
    Task task(4);
    const Pace pace{.running = 500, .run_queue = 500, .threads = 2, .thread_cpu = 500, .thread_queue = 1000};
    task.begin({.pid = 1, .tool = "rank", .pace = pace});
    task.execute(1, 1);
    task.begin({.pid = 2,
                .tool = "rank",
                .pace = pace,
                .parent = one_starts_the_other ? std::optional<std::uint32_t>(1) : std::nullopt});
    task.execute(2, 1);
    task.live(20);
    CHECK((task.last("oversubscribed") != nullptr) == one_starts_the_other);
  }
}

TEST_CASE("of two that wait for storage at different times it is not known that both waited at once") {
  Task task;
  task.begin({.pid = 1, .tool = "sort", .pace = {.running = 500, .disk = 500}});
  task.begin({.pid = 2, .tool = "sort", .pace = {.running = 500, .disk = 500}});
  task.live(20);
  task.finish();
  CHECK(task.findings.empty());
  Task both;
  both.begin({.pid = 1, .tool = "sort", .pace = {.running = 200, .disk = 800}});
  both.begin({.pid = 2, .tool = "sort", .pace = {.running = 200, .disk = 800}});
  both.live(20);
  both.finish();
  REQUIRE(both.last("disk_wait") != nullptr);
  CHECK(story::value(*both.last("disk_wait"), "percent") <= 60);
  CHECK(both.last("disk_wait")->text.find("for at least 12.0 s") != std::string::npos);
}

TEST_CASE("two tasks that take the CPUs from each other") {
  Task task;
  const Pace pace{.running = 500, .run_queue = 500, .threads = 2, .thread_cpu = 1000, .thread_queue = 1000};
  task.begin({.pid = 1, .tool = "bwa mem", .pace = pace});
  task.begin({.pid = 2, .tool = "STAR", .pace = pace, .context = story::task_context(8)});
  task.live(20);
  REQUIRE(task.last("cpu_contention") != nullptr);
  CHECK(task.last("cpu_contention")->confidence == "medium");
  CHECK(task.last("oversubscribed") == nullptr);
}

TEST_CASE("a long end on one of many CPUs") {
  Task task(8);
  task.begin({.pid = 1, .tool = "samtools sort", .pace = {.running = 1000, .threads = 6, .thread_cpu = 6000}});
  task.live(60);
  task.pace(1) = {.running = 1000};
  task.live(59);
  CHECK(task.findings.empty());
  task.live(20);
  REQUIRE(task.last("serial_tail") != nullptr);
  CHECK(task.last("serial_tail")->state == "open");
  CHECK(story::text(*task.last("serial_tail"), "best_cpus") == "6");
  task.finish();
  CHECK(task.last("serial_tail")->state == "closed");
}

TEST_CASE("a long end on one of two CPUs, whether or not it gets that") {
  for (const std::uint64_t got : {1000, 400}) {
    CAPTURE(got);
    Task task(2);
    task.begin({.pid = 1, .tool = "samtools sort", .pace = {.running = 1000, .threads = 2, .thread_cpu = 1900}});
    task.live(60);
    task.pace(1) = {.running = got, .run_queue = 1000 - got};
    task.live(80);
    REQUIRE(task.last("serial_tail") != nullptr);
    CHECK(story::text(*task.last("serial_tail"), "best_cpus") == "1.9");
  }
}

TEST_CASE("several that others leave one CPU are no end on one, and one of two that was never used is none either") {
  Task squeezed(8);
  squeezed.begin({.pid = 1, .tool = "samtools sort", .pace = {.running = 1000, .threads = 6, .thread_cpu = 6000}});
  squeezed.live(60);
  squeezed.pace(1) = {.running = 1000, .threads = 6, .thread_cpu = 1000, .thread_queue = 5000};
  squeezed.live(80);
  CHECK(squeezed.last("serial_tail") == nullptr);
  Task alone(2);
  alone.begin({.pid = 1, .tool = "java", .pace = {.running = 1000, .threads = 2, .thread_cpu = 1500}});
  alone.live(60);
  alone.pace(1) = {.running = 1000};
  alone.live(80);
  CHECK(alone.last("serial_tail") == nullptr);
}

TEST_CASE("many processes that hardly live") {
  for (const std::uint64_t count : {1000, 999}) {
    Task task;
    task.begin({.pid = 1, .tool = "bash", .pace = {.running = 500, .child = 500}});
    task.live(10);
    for (std::uint32_t i = 0; i < count; ++i) {
      ProcessExit exit = build::exit(100 + i);
      exit.process = build::process({.pid = 100 + i, .start_ns = 5, .tool = "cut", .context = story::task_context()});
      exit.begin_ns = exit.start_ns = 5;
      exit.end_ns = exit.time_ns = 5 + 10'000'000;
      exit.account.process_ledger.emplace();
      task.add(exit);
    }
    task.live(2);
    CAPTURE(count);
    CHECK((task.last("many_short_processes") != nullptr) == (count == 1000));
    if (count == 1000) CHECK(story::text(*task.last("many_short_processes"), "program") == "cut");
  }
}

TEST_CASE("the stage of a pipe that the others wait for") {
  Task task;
  task.begin({.pid = 1, .tool = "bash", .pace = {.child = 1000}});
  task.begin({.pid = 2,
              .tool = "zcat",
              .pace = {.running = 100, .pipe_write = 900, .read_bytes = 1 << 20, .writes_to = 3},
              .parent = 1});
  task.begin({.pid = 3, .tool = "slow.py", .pace = {.running = 1000, .read_bytes = 1 << 20}, .parent = 1});
  task.begin({.pid = 4,
              .tool = "gzip",
              .pace = {.running = 200, .pipe_read = 800, .read_bytes = 1 << 20, .reads_from = 3},
              .parent = 1});
  Context engine = story::task_context();
  engine.engine_own = true;
  task.begin({.pid = 5, .tool = "tee", .pace = {.pipe_read = 1000, .reads_from = 3}, .parent = 1, .context = engine});
  task.live(21);
  REQUIRE(task.last("pipe_bottleneck") != nullptr);
  CHECK(task.last("pipe_bottleneck")->confidence == "medium");
  task.finish();
  check_only(task, "pipe_bottleneck");
  const Finding& finding = *task.last("pipe_bottleneck");
  CHECK(finding.confidence == "high");
  CHECK(story::text(finding, "bottleneck") == "slow.py");
  CHECK(story::text(finding, "stages") == "zcat | slow.py | gzip");
  CHECK(finding.advice.find("such as by more threads") != std::string::npos);
}

TEST_CASE("a stage that waits itself gains nothing by more threads") {
  const std::pair<Pace, std::string> waits[] = {
      {{.running = 100, .network = 900, .read_bytes = 1 << 20}, "the network"},
      {{.running = 100, .sleep = 900, .read_bytes = 1 << 20}, "time to pass: it sleeps"},
      {{.running = 100, .disk = 900, .read_bytes = 1 << 20}, "storage"}};
  for (const auto& [pace, words] : waits) {
    Task task;
    task.begin({.pid = 2, .tool = "fetch.py", .pace = pace});
    task.begin(
        {.pid = 3, .tool = "gzip", .pace = {.running = 200, .pipe_read = 800, .read_bytes = 1 << 20, .reads_from = 2}});
    task.live(21);
    task.finish();
    CAPTURE(words);
    REQUIRE(task.last("pipe_bottleneck") != nullptr);
    const Finding& finding = *task.last("pipe_bottleneck");
    CHECK(story::text(finding, "waits_for") == words);
    CHECK(finding.advice.find("threads") == std::string::npos);
  }
}

TEST_CASE("threads that wait for each other, and not those that wait for work") {
  const Pace convoy{
      .running = 900, .lock = 100, .threads = 8, .thread_cpu = 1000, .thread_lock = 6500, .switches = 20000};
  const Task task = lived(convoy);
  check_only(task, "lock_convoy");
  CHECK(task.last("lock_convoy")->subject == "process");
  CHECK(story::value(*task.last("lock_convoy"), "threads") == 8);
  Pace idle = convoy;
  idle.switches = 20;
  CHECK(lived(idle).findings.empty());
}

TEST_CASE("data in tiny pieces") {
  const Pace tiny{.running = 1000, .read_bytes = 4'000'000, .read_calls = 1'000'000, .system = 700};
  const Task task = lived(tiny);
  check_only(task, "tiny_io");
  CHECK(story::value(*task.last("tiny_io"), "bytes_per_call") == 4);
  CHECK(story::text(*task.last("tiny_io"), "direction") == "read");
  Pace large = tiny;
  large.read_bytes = 1'000'000'000;
  CHECK(lived(large).findings.empty());
  Pace few = tiny;
  few.read_calls = 40'000;
  few.read_bytes = 160'000;
  CHECK(lived(few).findings.empty());
}

TEST_CASE("a transfer that became slow, and recovers") {
  Task task;
  task.begin({.pid = 1, .tool = "fetch.py", .pace = {.running = 800, .network = 200, .network_bytes = 10'000'000}});
  task.live(21);
  task.pace(1) = {.running = 10, .network = 300, .network_bytes = 1'000'000};
  task.live(11);
  CHECK(task.last("network_dropped") == nullptr);
  task.pace(1) = {.running = 10, .network = 900, .network_bytes = 1'000'000};
  task.live(21);
  REQUIRE(task.last("network_dropped") != nullptr);
  CHECK(task.last("network_dropped")->state == "open");
  CHECK(task.last("network_dropped")->confidence == "low");
  task.pace(1) = {.running = 800, .network = 200, .network_bytes = 10'000'000};
  task.live(21);
  CHECK(task.last("network_dropped")->state == "closed");
}

TEST_CASE("storage that another task keeps busy") {
  for (const std::uint64_t busy : {900, 400}) {
    Task task;
    task.begin({.pid = 1, .tool = "sort", .pace = {.running = 500, .disk = 500}});
    for (int i = 0; i < 20; ++i) {
      DeviceSample device;
      device.time_ns = task.now_ns() + story::kSecond;
      device.since_ns = task.now_ns();
      device.read_bytes = 1000;
      device.busy_ns = busy * 1'000'000;
      device.heaviest_pid = 9;
      device.heaviest_tool = "fasterq-dump";
      device.heaviest_bytes = 800;
      device.context = std::make_shared<const Context>(story::task_context(8));
      task.add(device);
      task.live(1);
    }
    CAPTURE(busy);
    CHECK((task.last("disk_contention") != nullptr) == (busy == 900));
    if (busy == 900) {
      CHECK(story::text(*task.last("disk_contention"), "neighbor") == "fasterq-dump");
      task.finish();
      CHECK(task.last("disk_contention")->state == "closed");
    }
  }
}

TEST_CASE("a file that is read again and again") {
  constexpr std::uint64_t kFile = 500'000'000;
  for (const int times : {3, 2}) {
    Task task;
    task.begin({.pid = 1, .tool = "samtools view", .pace = {.running = 1000}});
    task.live(12);
    for (int i = 0; i < times; ++i) {
      FileUse use;
      use.time_ns = task.now_ns();
      use.process =
          build::process({.pid = 1, .start_ns = 1, .tool = "samtools view", .context = story::task_context()});
      use.path = "/data/a.bam";
      use.device = 1;
      use.inode = 2;
      use.opens = 1;
      use.read_bytes = use.size_bytes = kFile;
      task.add(use);
    }
    task.finish();
    CAPTURE(times);
    CHECK((task.last("read_again") != nullptr) == (times == 3));
    if (times == 3) CHECK(story::text(*task.last("read_again"), "path") == "/data/a.bam");
  }
}

TEST_CASE("what was written before a file was read does not stand for another content, though its event comes last") {
  constexpr std::uint64_t kFile = 500'000'000;
  struct Case {
    std::uint64_t closed_ns;
    std::uint64_t begun;
    bool found;
  };
  for (const Case& each : {Case{5, 1, true}, Case{5, 3, true}, Case{30, 1, false}}) {
    Task task;
    task.begin({.pid = 1, .tool = "bash", .pace = {.running = 1000}});
    task.live(12);
    FileUse use;
    use.path = "/data/a.bam";
    use.device = 1;
    use.inode = 2;
    use.generation = 1;
    use.opens = 1;
    use.size_bytes = kFile;
    for (std::uint32_t pid = 2; pid < 5; ++pid) {
      use.time_ns = task.now_ns();
      use.process =
          build::process({.pid = pid, .start_ns = 10 * pid, .tool = "samtools", .context = story::task_context()});
      use.opened_to_read = true;
      use.read_earlier_content = true;
      use.read_bytes = kFile;
      use.contents_begun = 0;
      task.add(use);
    }
    use.process = build::process({.pid = 1, .start_ns = 1, .tool = "bash", .context = story::task_context()});
    use.opened_to_read = false;
    use.opened_to_write = true;
    use.read_earlier_content.reset();
    use.read_bytes.reset();
    use.contents_begun = each.begun;
    use.last_close_ns = each.closed_ns;
    task.add(use);
    task.finish();
    CAPTURE(each.closed_ns);
    CHECK((task.last("read_again") != nullptr) == each.found);
    if (each.found) CHECK(task.last("read_again")->tool == "samtools");
  }
}

TEST_CASE("the scratch file of a loop in one process is not read again") {
  Task task;
  task.begin({.pid = 1, .tool = "python3", .pace = {.running = 1000}});
  task.live(12);
  FileUse use;
  use.time_ns = task.now_ns();
  use.process = build::process({.pid = 1, .start_ns = 1, .tool = "python3", .context = story::task_context()});
  use.path = "/tmp/scratch";
  use.device = 1;
  use.inode = 2;
  use.generation = 1;
  use.opens = 10;
  use.opened_to_read = use.opened_to_write = true;
  use.contents_begun = 5;
  use.read_earlier_content = false;
  use.size_bytes = 500'000'000;
  use.read_bytes = 5 * *use.size_bytes;
  task.add(use);
  task.finish();
  CHECK(task.last("read_again") == nullptr);
}
