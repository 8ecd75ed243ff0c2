// SPDX-License-Identifier: Apache-2.0
/// What is said of file systems that were full when something failed, and how they are found among mounts.
#include "insight/full_file_systems.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "collect.hpp"
#include "insight/insight.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kScratch = 0x800001;

Context context_of_task() {
  Context context;
  context.run_key = Key{1};
  context.task = "ALIGN (S1)";
  context.task_key = Key{2};
  context.engine = "nextflow";
  return context;
}

/// A task of process 10 and its child 20, on a host whose only file system has this much room.
class Story {
 public:
  explicit Story(std::optional<FileSystemSpace> space, std::vector<SpaceLook> looks = {}) {
    insight_.ask_this_host(
        [space = std::move(space)](const SpaceQuestion& asked) {
          CHECK(asked.device == kScratch);
          CHECK(asked.path == "/scratch/out.bam");
          if (space && space->removed_bytes != 0) {
            REQUIRE(asked.files.size() == 1);
            CHECK(asked.files[0].inode == 7);
            CHECK(asked.files[0].size_bytes == 4 * kMiB);
          }
          return space;
        },
        [this, looks] {
          const std::size_t number = begun_++;
          return number < looks.size() ? looks[number] : SpaceLook{std::numeric_limits<std::uint64_t>::max()};
        });
    TaskStart start;
    start.time_ns = start.start_ns = kMs;
    start.context = std::make_shared<const Context>(context_of_task());
    start.pid = 10;
    add(start);
    for (const std::uint32_t pid : {10U, 20U}) add(ProcessStart{kMs, process(pid), {}});
  }
  void writes(std::uint32_t pid, bool to_write = true) {
    FileUse use;
    use.time_ns = 50 * kMs;
    use.process = process(pid);
    use.path = "/scratch/out.bam";
    use.device = kScratch;
    use.inode = 7;
    use.opens = 1;
    use.opened_to_read = !to_write;
    use.opened_to_write = to_write;
    use.size_bytes = 4 * kMiB;
    use.last_close_ns = 49 * kMs;
    add(use);
  }
  /// All looks have been seen.
  void looks_at(std::size_t count) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    // The next one begins when the one before has been taken.
    while (begun_ <= count && std::chrono::steady_clock::now() < until) {
      SnapshotEnd end;
      end.time_ns = 40 * kMs;
      add(end);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(begun_ > count);
  }
  void ends(std::uint32_t pid, std::int32_t code, std::optional<std::int32_t> signal = {}, bool is_answer = false) {
    ProcessExit exit;
    exit.time_ns = exit.end_ns = 50 * kMs;
    exit.process = process(pid);
    exit.start_ns = exit.begin_ns = kMs;
    if (signal) {
      exit.exit_signal = signal;
    } else {
      exit.exit_code = code;
    }
    exit.status_is_answer = is_answer;
    exit.account.written_bytes = 4 * kMiB;
    add(exit);
  }
  /// The task ends so, and the session.
  std::vector<Finding> over(std::int32_t code) {
    TaskFinish finish;
    finish.time_ns = finish.end_ns = 100 * kMs;
    finish.context = std::make_shared<const Context>(context_of_task());
    finish.pid = 10;
    finish.start_ns = kMs;
    finish.exit_code = code;
    add(finish);
    SessionEnd end;
    end.time_ns = 200 * kMs;
    add(end);
    std::vector<Finding> found;
    for (const Event& event : events_)
      if (const auto* finding = event.get_if<Finding>(); finding != nullptr && finding->code == "disk_full")
        found.push_back(*finding);
    return found;
  }
  void add(Event event) { insight_.add(std::move(event), events_); }

 private:
  static std::shared_ptr<const Process> process(std::uint32_t pid) {
    return build::process({.pid = pid,
                           .start_ns = kMs,
                           .parent_pid = pid == 20 ? 10 : 1,
                           .tool = pid == 20 ? "samtools sort" : "bash",
                           .context = context_of_task()});
  }
  std::atomic<std::size_t> begun_ = 0;
  Insight insight_{2};
  std::vector<Event> events_;
};

FileSystemSpace room(std::uint64_t free_bytes, std::uint64_t size_bytes = 1024 * kMiB) {
  return {"/scratch", "ext4", size_bytes, free_bytes, 1000, 900};
}

std::vector<Finding> of_writer(const std::optional<FileSystemSpace>& space, std::int32_t status = 1) {
  Story story(space);
  story.writes(20);
  story.ends(20, 1);
  return story.over(status);
}

}  // namespace

TEST_CASE("a process that failed when the file system that it had written to was full") {
  const auto found = of_writer(room(0));
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == "warning");
  CHECK(found[0].confidence == "high");
  CHECK(found[0].subject == "task");
  CHECK(found[0].pid == 20U);
  CHECK(found[0].first_ns == 50 * kMs);
  CHECK(found[0].text ==
        "samtools sort (pid 20) ended with status 1 when /scratch was full, in task ALIGN (S1): 0 B of 1.0 GiB were "
        "free");
  CHECK(found[0].advice.find("inodes") == std::string::npos);
  // Nobody else reports that, where its task ends well.
  CHECK(of_writer(room(0), 0).size() == 1);
}

TEST_CASE("full is what has less than 1 MiB and less than 1 %, or no inode") {
  CHECK(of_writer(room(kMiB)).size() == 1);
  CHECK(of_writer(room(kMiB + 1)).empty());
  CHECK(of_writer(room(kMiB, 50 * kMiB)).empty());
  CHECK(of_writer(std::nullopt).empty());
  FileSystemSpace no_inode = room(500 * kMiB);
  no_inode.free_inodes = 0;
  const auto found = of_writer(no_inode);
  REQUIRE(found.size() == 1);
  CHECK(found[0].text ==
        "samtools sort (pid 20) ended with status 1 when /scratch was full, in task ALIGN (S1): all of its 1000 inodes "
        "were in use, and no file could be made");
  CHECK(found[0].advice.find("inodes") != std::string::npos);
  no_inode.inodes = 0;
  CHECK(of_writer(no_inode).empty());
}

TEST_CASE("what another process of the task wrote to counts if the task failed") {
  for (const std::int32_t status : {0, 1}) {
    Story story(room(0));
    story.writes(10);
    story.ends(20, 1);
    const auto found = story.over(status);
    CHECK(found.size() == (status == 0 ? 0 : 1));
    for (const Finding& each : found) CHECK(each.confidence == "medium");
  }
}

TEST_CASE("file systems of one user that hang, and any number of tasks that write, keep nobody else from an answer") {
  constexpr std::uint32_t kAlice = 1000;
  constexpr std::uint32_t kBob = 1001;
  std::promise<void> gone;
  const std::shared_future<void> hangs = gone.get_future().share();
  Insight insight(2);
  insight.ask_this_host(
      [hangs](const SpaceQuestion& asked) {
        if (asked.path == "/mnt/hung") hangs.wait();
        return room(0);
      },
      [] { return SpaceLook{}; });
  std::vector<Event> events;
  const auto fails = [&](std::uint32_t pid, std::uint32_t uid, const char* path) {
    Context context = context_of_task();
    context.task_key = Key{pid};
    context.owner_uid = uid;
    FileUse use;
    use.process = build::process({.pid = pid, .uid = uid, .tool = "sort", .context = context});
    use.path = path;
    use.device = kScratch;
    use.opened_to_write = true;
    insight.add(use, events);
    ProcessExit exit = build::exit(pid, 50 * kMs);
    exit.process = use.process;
    exit.exit_code = 1;
    insight.add(exit, events);
  };
  for (std::uint32_t pid = 100'000; pid < 133'000; ++pid) fails(pid, kBob, "/mnt/hung");
  fails(10, kAlice, "/scratch/out.bam");
  insight.add(build::end(200 * kMs), events);
  gone.set_value();
  const auto found = collect::all_of<Finding>(events);
  CHECK(std::count_if(found.begin(), found.end(), [&](const Finding& each) {
          return each.code == "disk_full" && each.context->owner_uid == kAlice;
        }) == 1);
}

TEST_CASE("nothing is said of a file system that was only read, of what did not fail, and of what others ended") {
  Story only_read(room(0));
  only_read.writes(20, false);
  only_read.ends(20, 1);
  CHECK(only_read.over(1).empty());
  Story well(room(0));
  well.writes(20);
  well.ends(20, 0);
  CHECK(well.over(0).empty());
  Story answer(room(0));
  answer.writes(20);
  answer.ends(20, 1, {}, true);
  CHECK(answer.over(0).empty());
  Story killed(room(0));
  killed.writes(20);
  killed.ends(20, 0, SIGKILL);
  CHECK(killed.over(1).empty());
  Story mapped(room(0));
  mapped.writes(20);
  mapped.ends(20, 0, SIGBUS);
  CHECK(mapped.over(1).size() == 1);
}

TEST_CASE("it may have been full by what was removed since, if the task failed") {
  FileSystemSpace space = room(4 * kMiB, 4 * kMiB);
  space.removed_bytes = 4 * kMiB;
  const auto found = of_writer(space);
  REQUIRE(found.size() == 1);
  CHECK(found[0].confidence == "medium");
  CHECK(found[0].text ==
        "samtools sort (pid 20) ended with status 1, and may have failed when /scratch was full, in task ALIGN (S1): "
        "4.0 MiB that had been written there were removed, and 4.0 MiB of 4.0 MiB were free afterwards");
  CHECK(of_writer(space, 0).empty());
  space.removed_bytes = 3 * kMiB;
  CHECK(of_writer(space).empty());
}

TEST_CASE("what another process removed before it ended was not there at its end") {
  std::promise<std::size_t> files;
  Insight insight(2);
  insight.ask_this_host(
      [&](const SpaceQuestion& question) {
        files.set_value(question.files.size());
        return room(4 * kMiB, 4 * kMiB);
      },
      [] { return SpaceLook{}; });
  std::vector<Event> events;
  FileUse use;
  use.process = build::process({.pid = 20, .tool = "sort", .context = context_of_task()});
  use.path = "/scratch/out.bam";
  use.device = kScratch;
  use.inode = 7;
  use.size_bytes = 4 * kMiB;
  use.opened_to_write = true;
  insight.add(use, events);
  use.opened_to_write = false;
  use.deletes = 1;
  insight.add(use, events);
  ProcessExit exit = build::exit(20, 50 * kMs);
  exit.process = use.process;
  exit.exit_code = 1;
  insight.add(exit, events);
  insight.add(build::end(200 * kMs), events);
  CHECK(files.get_future().get() == 0);
}

TEST_CASE("a file that was renamed was not removed") {
  for (const bool by_itself : {true, false}) {
    std::promise<std::vector<WrittenFile>> files;
    Insight insight(2);
    insight.ask_this_host(
        [&](const SpaceQuestion& question) {
          files.set_value(question.files);
          return room(4 * kMiB, 4 * kMiB);
        },
        [] { return SpaceLook{}; });
    std::vector<Event> events;
    FileUse use;
    use.process = build::process({.pid = 20, .tool = "sort", .context = context_of_task()});
    use.path = "/scratch/out.tmp";
    use.device = kScratch;
    use.inode = 7;
    use.size_bytes = 4 * kMiB;
    use.opened_to_write = true;
    use.renames = by_itself ? 1 : 0;
    if (by_itself) use.renamed_to = "/scratch/out.bam";
    insight.add(use, events);
    if (!by_itself) {
      use.opened_to_write = false;
      use.renames = 1;
      use.renamed_to = "/scratch/out.bam";
      insight.add(use, events);
    }
    ProcessExit exit = build::exit(20, 50 * kMs);
    exit.process = use.process;
    exit.exit_code = 1;
    insight.add(exit, events);
    insight.add(build::end(200 * kMs), events);
    const auto asked = files.get_future().get();
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].path == "/scratch/out.bam");
  }
}

TEST_CASE("where renames are not seen, what is gone was removed only if there is more room") {
  const auto found_with = [](std::uint64_t free_bytes) {
    FileSystemSpace space = room(free_bytes, 1024 * kMiB);
    space.removed_bytes = 4 * kMiB;
    Story story(space, {SpaceLook{40 * kMs, {{kScratch, {5 * kMiB, 5 * kMiB}}}}});
    story.looks_at(1);
    story.writes(20);
    story.ends(20, 1);
    return story.over(1).size();
  };
  CHECK(found_with(2 * kMiB) == 0);
  CHECK(found_with(4 * kMiB) == 1);
}

TEST_CASE("it may have been full by a look before, and was not if that shows room for all that was written since") {
  const auto look = [](std::uint64_t time_ms, std::uint64_t free_bytes) {
    return SpaceLook{time_ms * kMs, {{kScratch, {free_bytes, free_bytes}}}};
  };
  const auto found_after = [](const std::vector<SpaceLook>& looks, std::uint64_t removed_bytes) {
    FileSystemSpace space = room(100 * kMiB, 1024 * kMiB);
    space.removed_bytes = removed_bytes;
    Story story(space, looks);
    story.looks_at(looks.size());
    story.writes(20);
    story.ends(20, 1);
    return story.over(1);
  };
  const auto found = found_after({look(10, 50 * kMiB), look(40, 3 * kMiB)}, 0);
  REQUIRE(found.size() == 1);
  CHECK(found[0].confidence == "medium");
  CHECK(
      found[0].text.find("and may have failed when /scratch was full, in task ALIGN (S1): 3.0 MiB were free at a look "
                         "before its end, and 100.0 MiB of 1.0 GiB afterwards") != std::string::npos);
  // A look after its end shows nothing of that.
  CHECK(found_after({look(40, 3 * kMiB), look(60, 1000 * kMiB)}, 0).size() == 1);
  // There was no less room before than afterwards.
  CHECK(found_after({look(40, 100 * kMiB)}, 0).empty());
  // By another look 4 MiB in 10 ms, so twice as much is no longer free at the end.
  CHECK(found_after({look(30, 12 * kMiB), look(40, 8 * kMiB)}, 0).size() == 0);
  CHECK(found_after({look(30, 24 * kMiB), look(40, 8 * kMiB)}, 0).size() == 1);
  // More was removed than is free: but not lately.
  CHECK(found_after({}, 100 * kMiB).size() == 1);
  CHECK(found_after({look(40, 50 * kMiB)}, 100 * kMiB).empty());
}

TEST_CASE("without a host to ask there is nothing to find") {
  Insight insight(2);
  std::vector<Event> events;
  ProcessExit exit = build::exit(20, 50 * kMs);
  exit.exit_code = 1;
  insight.add(exit, events);
  insight.add(build::end(60 * kMs), events);
  CHECK(events.size() == 2);
}

TEST_CASE("a file system is asked where its file is, and never beyond one that may hang") {
  const auto mounts = parse_mounts(
      "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "30 21 0:40 / /net rw - nfs4 server:/ rw\n"
      "31 30 0:41 / /net/fast rw - tmpfs tmpfs rw\n"
      "32 21 0:42 / /scratch\\040a rw shared:1 master:2 - tmpfs tmpfs rw\n"
      "33 21 0:42 /sub /other rw - tmpfs tmpfs rw\n"
      "34 21 0:43 / /fuse rw - fuse.sshfs x rw\n"
      "nonsense\n"
      "35 21 8:x / /bad rw - ext4 /dev/sdb rw\n");
  REQUIRE(mounts.size() == 6);
  CHECK(mounts[3].point == "/scratch a");
  const auto asked = [&](std::uint64_t device, const char* path) {
    const SeenMount* mount = mount_to_ask(mounts, device, path);
    return mount == nullptr ? std::string() : mount->point;
  };
  CHECK(asked(8 << 20 | 1, "/home/x") == "/");
  CHECK(asked(42, "/scratch a/x") == "/scratch a");
  CHECK(asked(42, "/other/x") == "/other");
  CHECK(asked(42, "/elsewhere/x") == "/scratch a");
  CHECK(asked(40, "/net/x").empty());
  CHECK(asked(41, "/net/fast/x").empty());
  CHECK(asked(43, "/fuse/x").empty());
  CHECK(asked(99, "/x").empty());
}

TEST_CASE("the room of the file system of a file is what statvfs reports") {
  const TempFile place;
  struct stat about {};
  REQUIRE(::stat(place.folder().c_str(), &about) == 0);
  SpaceQuestion question;
  question.device = std::uint64_t{major(about.st_dev)} << 20 | minor(about.st_dev);
  question.path = place.folder().string();
  const auto space = file_system_space(question);
  if (!space) return;  // One that is not asked.
  CHECK(space->size_bytes > 0);
  CHECK(space->free_bytes <= space->size_bytes);
  CHECK(question.path.starts_with(space->mount_point));
}

TEST_CASE("what was removed of files that were written is seen beside the room") {
  const TempFile kept;
  struct stat about {};
  REQUIRE(::stat(kept.folder().c_str(), &about) == 0);
  SpaceQuestion question;
  question.device = std::uint64_t{major(about.st_dev)} << 20 | minor(about.st_dev);
  question.path = kept.folder().string();
  const std::string there = kept.folder().string() + "/there";
  std::ofstream(there) << "12345";
  REQUIRE(::stat(there.c_str(), &about) == 0);
  question.files = {{there, about.st_ino, 5},
                    {there, about.st_ino, 105},
                    {there, about.st_ino + 1, 1000},
                    {kept.folder().string() + "/gone", 1, 20'000},
                    {"/elsewhere\nthan/this", 1, 400'000}};
  const auto space = file_system_space(question);
  if (!space) return;  // One that is not asked.
  // At the root all paths are below it.
  CHECK(space->removed_bytes == 21'100 + (space->mount_point == "/" ? 400'000 : 0));
  const SpaceLook look = look_at_file_systems();
  REQUIRE(look.by_device.contains(question.device));
  CHECK(look.by_device.at(question.device).bytes <= space->size_bytes);
  CHECK(look.by_device.at(question.device).bytes <= look.by_device.at(question.device).for_root_bytes);
}
