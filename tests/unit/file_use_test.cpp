// SPDX-License-Identifier: Apache-2.0
/// What becomes of the records of the family files, and which files are noise.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "collect.hpp"
#include "correlate/joins/files.hpp"
#include "rules/file_rules.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;
using collect::Stages;
using wire::Who;

namespace {

const Who kReader{.pid = 42, .start_ns = 1000, .comm = "sort"};

void use(Stages& stages, const wire::FileUse& use) { stages.push(wire::file_use_record(kReader, use)); }

void end(Stages& stages, std::uint64_t read_bytes, std::uint64_t written_bytes = 0) {
  wire::Exit exit{.time_ns = 9000, .program_start_ns = 1000};
  exit.total.read_bytes = read_bytes;
  exit.total.written_bytes = written_bytes;
  stages.push(wire::exit_record(kReader, exit));
}

}  // namespace

TEST_CASE("a file's uses are one event of its process, before the exit") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 1, .read_bytes = 10, .size_bytes = 10, .closed_ns = 2000, .reads = true, .path = "/d/a"});
  use(stages, {.opens = 4, .read_bytes = 40, .size_bytes = 12, .closed_ns = 5000, .reads = true, .fresh = false});
  // Of two that crossed on their way.
  use(stages, {.opens = 2, .read_bytes = 20, .size_bytes = 11, .closed_ns = 3000, .reads = true, .fresh = false});
  end(stages, 40);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].process->pid == 42);
  CHECK(uses[0].path == "/d/a");
  CHECK(uses[0].device == 8);
  CHECK(uses[0].inode == 5);
  CHECK(uses[0].opens == 4);
  CHECK(uses[0].read_bytes == 40);
  CHECK_FALSE(uses[0].written_bytes.has_value());
  CHECK(uses[0].size_bytes == 12);
  CHECK(uses[0].last_close_ns == 5000);
  CHECK(uses[0].time_ns == 9000);
  CHECK(stages.events.back().kind() != EventKind::kFileUse);
}

TEST_CASE("the kind of a file's file system comes with its path, and the first of its opens from all its sums") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 1, .closed_ns = 2000, .reads = true, .path = "/d/a", .opened_ns = 1500, .filesystem = "nfs4"});
  use(stages, {.opens = 2, .closed_ns = 5000, .reads = true, .fresh = false, .opened_ns = 1400});
  use(stages, {.inode = 6, .closed_ns = 3000, .reads = true, .path = "/f/b", .filesystem = "fuse", .subtype = "sshfs"});
  // One of two opens was not seen.
  use(stages, {.inode = 7, .closed_ns = 3000, .reads = true, .path = "/f/c", .opened_ns = 1500});
  use(stages, {.inode = 7,
               .opens = 2,
               .closed_ns = 4000,
               .reads = true,
               .fresh = false,
               .opened_ns = 1500,
               .open_unknown = true});
  // The sums began anew: the first open was before.
  use(stages, {.inode = 8, .closed_ns = 3000, .reads = true, .path = "/f/d", .opened_ns = 1500});
  use(stages, {.inode = 8, .closed_ns = 4000, .reads = true, .path = "/f/d", .opened_ns = 3500});
  end(stages, 0);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 4);
  CHECK(uses[0].filesystem == "nfs4");
  CHECK(uses[0].first_open_ns == 1400u);
  CHECK(uses[1].filesystem == "fuse.sshfs");
  CHECK_FALSE(uses[1].first_open_ns.has_value());
  CHECK_FALSE(uses[2].filesystem.has_value());
  CHECK_FALSE(uses[2].first_open_ns.has_value());
  CHECK(uses[3].first_open_ns == 1500u);
}

TEST_CASE("sums that the kernel began anew are added to those before") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 3,
               .written_bytes = 30,
               .size_bytes = 30,
               .closed_ns = 2000,
               .created = true,
               .writes = true,
               .path = "/d/a"});
  use(stages, {.opens = 1, .written_bytes = 5, .size_bytes = 5, .closed_ns = 3000, .writes = true, .path = "/d/a"});
  end(stages, 0, 35);
  const auto use = stages.last<FileUse>();
  CHECK(use.opens == 4);
  CHECK(use.written_bytes == 35);
  CHECK(use.size_bytes == 5);
  CHECK(use.created);
}

TEST_CASE("whether a content began, and which was read, is absent where it is not known") {
  struct Case {
    std::uint32_t begins;
    bool may_begin;
    bool reads_earlier;
    std::uint64_t modified_ns;
    std::optional<std::uint64_t> begun;
    std::optional<bool> read_earlier;
  };
  // It was modified long before it was opened.
  constexpr std::uint64_t kBefore = 1;
  for (const Case& each :
       {Case{0, true, false, 0, {}, {}}, Case{0, true, true, 0, {}, true}, Case{1, true, false, 0, 1, {}},
        Case{1, false, false, 0, 1, false}, Case{0, false, true, 0, 0, true}, Case{0, true, false, kBefore, 0, true}}) {
    Stages stages;
    const Who who{.pid = 42, .start_ns = 1'000'000'000, .comm = "h5copy"};
    stages.push(wire::start_record(who));
    stages.push(wire::file_use_record(who, {.reads = true,
                                            .writes = true,
                                            .path = "/d/a",
                                            .filesystem = "ext4",
                                            .begins = each.begins,
                                            .may_begin = each.may_begin,
                                            .reads_earlier = each.reads_earlier,
                                            .modified_ns = each.modified_ns}));
    stages.push(wire::exit_record(who, {.time_ns = 2'000'000'000, .program_start_ns = who.start_ns}));
    const auto uses = stages.all<FileUse>();
    REQUIRE(uses.size() == 1);
    CHECK(uses[0].contents_begun == each.begun);
    CHECK(uses[0].read_earlier_content == each.read_earlier);
  }
}

TEST_CASE("positions that say more than the process has read in all say nothing") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 1, .read_bytes = 1000, .closed_ns = 2000, .reads = true, .path = "/d/a"});
  end(stages, 999);
  CHECK_FALSE(stages.last<FileUse>().read_bytes.has_value());
}

TEST_CASE("what a child has written through an open that its parent closes counts for the parent") {
  Stages stages;
  const Who child{.pid = 43, .start_ns = 1500, .parent_pid = 42, .parent_start_ns = 1000};
  stages.push(wire::start_record(kReader));
  stages.push(wire::start_record(child));
  wire::Exit exit{.time_ns = 3000, .program_start_ns = 1500};
  exit.total.written_bytes = 500;
  stages.push(wire::exit_record(child, exit));
  // However many orphans of another user end meanwhile.
  for (std::uint32_t pid = 100'000; pid < 133'000; ++pid) {
    const Who orphan{.pid = pid, .start_ns = 1500, .parent_pid = 1'000'000 + pid, .parent_start_ns = 1, .uid = 1001};
    stages.push(wire::start_record(orphan));
    stages.push(wire::exit_record(orphan, {.time_ns = 3000, .program_start_ns = 1500}));
  }
  use(stages, {.written_bytes = 500, .closed_ns = 4000, .writes = true, .path = "/d/a"});
  end(stages, 0, 0);
  CHECK(stages.last<FileUse>().written_bytes == 500);
}

TEST_CASE("files without a first record, and folded ones, have no path") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 2, .closed_ns = 2000, .reads = true, .fresh = false});
  use(stages, {.inode = 0, .device = 0, .generation = 1, .opens = 7, .closed_ns = 2000, .writes = true});
  end(stages, 0);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].folded == "unlinked");
  CHECK(uses[0].opens == 7);
  CHECK(uses[1].folded == "others");
  CHECK(uses[1].opens == 2);
  for (const FileUse& each : uses) {
    CHECK_FALSE(each.path.has_value());
    CHECK_FALSE(each.inode.has_value());
    CHECK_FALSE(each.size_bytes.has_value());
  }
}

TEST_CASE("a process that renames what it wrote says so beside the path of its close") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.closed_ns = 2000, .created = true, .writes = true, .path = "/d/a.tmp"});
  use(stages, {.closed_ns = 2000,
               .created = true,
               .writes = true,
               .path = "/d/a.tmp",
               .fresh = false,
               .change = TRACER_FILE_RENAMED,
               .new_path = "/d/a.bak",
               .renames = 1});
  use(stages, {.closed_ns = 2000,
               .created = true,
               .writes = true,
               .path = "/d/a.bak",
               .fresh = false,
               .change = TRACER_FILE_RENAMED,
               .new_path = "/e/a",
               .renames = 2});
  end(stages, 0);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].path == "/d/a.tmp");
  CHECK(uses[0].path_at == "close");
  CHECK(uses[0].renamed_to == "/e/a");
  CHECK(uses[0].renames == 2u);
  CHECK(uses[0].deletes == 0u);
  CHECK(uses[0].opens == 1);
  CHECK(uses[0].last_close_ns == 2000);
}

TEST_CASE("who only renames or deletes a file has used it, with no open") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 0,
               .size_bytes = 7,
               .closed_ns = 3000,
               .path = "/d/a.tmp",
               .filesystem = "ext4",
               .change = TRACER_FILE_RENAMED,
               .new_path = "/d/a",
               .renames = 1});
  use(stages, {.inode = 6, .opens = 0, .closed_ns = 4000, .path = "/d/b", .change = TRACER_FILE_DELETED, .deletes = 1});
  end(stages, 0);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 2);
  for (const FileUse& each : uses) {
    CHECK(each.opens == 0);
    CHECK_FALSE(each.opened_to_read);
    CHECK_FALSE(each.opened_to_write);
    CHECK_FALSE(each.read_bytes.has_value());
    CHECK_FALSE(each.written_bytes.has_value());
    CHECK_FALSE(each.first_open_ns.has_value());
  }
  CHECK(uses[0].path == "/d/a.tmp");
  CHECK(uses[0].path_at == "rename");
  CHECK(uses[0].renamed_to == "/d/a");
  CHECK(uses[0].last_close_ns == 3000);
  CHECK(uses[0].size_bytes == 7u);
  CHECK(uses[0].filesystem == "ext4");
  CHECK(uses[1].path == "/d/b");
  CHECK(uses[1].path_at == "delete");
  CHECK_FALSE(uses[1].renamed_to.has_value());
  CHECK(uses[1].renames == 0u);
  CHECK(uses[1].deletes == 1u);
}

TEST_CASE("a file that is opened after its rename has its first open and its last close") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 0,
               .closed_ns = 3000,
               .path = "/d/a.tmp",
               .change = TRACER_FILE_RENAMED,
               .new_path = "/d/a",
               .renames = 1});
  use(stages, {.opens = 1, .closed_ns = 5000, .reads = true, .fresh = false, .opened_ns = 4000, .renames = 1});
  end(stages, 0);
  const auto use = stages.last<FileUse>();
  CHECK(use.path == "/d/a.tmp");
  CHECK(use.path_at == "rename");
  CHECK(use.opens == 1);
  CHECK(use.renames == 1u);
  CHECK(use.first_open_ns == 4000u);
  CHECK(use.last_close_ns == 5000);
}

TEST_CASE("a kernel that shows no renames and deletes has none, and not 0") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.closed_ns = 2000, .writes = true, .path = "/d/a", .moves_unseen = true});
  use(stages, {.inode = 0, .device = 0, .generation = 1, .closed_ns = 2000, .writes = true, .moves_unseen = true});
  use(stages, {.inode = 0, .device = 0, .generation = 0, .closed_ns = 2000, .writes = true, .moves_unseen = true});
  end(stages, 0);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 3);
  for (const FileUse& each : uses) {
    CHECK_FALSE(each.renames.has_value());
    CHECK_FALSE(each.deletes.has_value());
    CHECK_FALSE(each.renamed_to.has_value());
  }
}

TEST_CASE("a file with the number of one that its process has deleted is another, though of the same name") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.closed_ns = 2000, .created = true, .writes = true, .path = "/d/a"});
  use(stages, {.closed_ns = 2000,
               .created = true,
               .writes = true,
               .path = "/d/a",
               .fresh = false,
               .change = TRACER_FILE_DELETED,
               .deletes = 1});
  use(stages, {.closed_ns = 4000, .created = true, .writes = true, .path = "/d/a"});
  end(stages, 0);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].deletes == 1u);
  CHECK(uses[0].last_close_ns == 2000);
  CHECK(uses[1].deletes == 0u);
  CHECK(uses[1].last_close_ns == 4000);
}

TEST_CASE("renames and deletes of files beyond those that are told apart are counted") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  for (std::uint64_t i = 0; i < FilesJoin::kMostFilesOfProcess + 10; ++i) {
    use(stages, {.inode = 100 + i,
                 .opens = 0,
                 .more_opens = 0,
                 .closed_ns = 2000,
                 .path = "/d/" + std::to_string(i),
                 .change = TRACER_FILE_DELETED,
                 .deletes = 1,
                 .more_deletes = 1});
  }
  // Beyond what the kernel tells apart.
  use(stages, {.inode = 0,
               .device = 0,
               .generation = 0,
               .opens = 0,
               .more_opens = 0,
               .closed_ns = 3000,
               .change = TRACER_FILE_DELETED,
               .renames = 2,
               .deletes = 3,
               .more_renames = 2,
               .more_deletes = 3});
  end(stages, 0);
  std::uint64_t named = 0;
  for (const FileUse& each : stages.all<FileUse>()) {
    if (each.path) {
      ++named;
      continue;
    }
    CHECK(each.folded == "others");
    CHECK(each.opens == 0);
    CHECK(each.renames == 2u);
    CHECK(each.deletes == 13u);
  }
  CHECK(named == FilesJoin::kMostFilesOfProcess);
  CHECK(stages.all<FileUse>().size() == named + 1);
}

TEST_CASE(
    "files of a user take what they may, those that come later have some, the oldest are folded, and no open is lost") {
  constexpr std::uint32_t kProcesses = 50;
  constexpr std::uint64_t kFiles = FilesJoin::kMostFilesOfProcess;
  const std::string folder = "/" + std::string(880, 'd');
  Stages stages;
  for (std::uint32_t pid = 1; pid <= kProcesses; ++pid) {
    const Who who{.pid = pid, .start_ns = 1000, .comm = "sort"};
    stages.push(wire::start_record(who));
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      const std::string path = folder + std::to_string(i) + "/" + std::to_string(i);
      stages.push(wire::file_use_record(who, {.inode = 100 + i, .reads = true, .path = path}));
    }
  }
  stages.correlator.end(7000, stages.events);
  std::map<std::uint32_t, std::uint64_t> named;
  std::uint64_t bytes = 0;
  std::uint64_t opens = 0;
  for (const FileUse& each : stages.all<FileUse>()) {
    opens += each.opens;
    if (!each.path) continue;
    ++named[each.process->pid];
    bytes += each.path->size();
  }
  CHECK(named[1] == 0);
  CHECK(named[kProcesses - 10] == FilesJoin::kFewFilesOfProcess);
  CHECK(named[kProcesses] == FilesJoin::kFewFilesOfProcess);
  CHECK(bytes < FilesJoin::kMostBytes);
  CHECK(bytes > FilesJoin::kMostBytes / 2);
  CHECK(opens == kProcesses * kFiles);
  // What they took is free again.
  const Who late{.pid = 2000, .start_ns = 8000, .comm = "sort"};
  stages.push(wire::start_record(late));
  for (std::uint64_t i = 0; i < kFiles; ++i)
    stages.push(wire::file_use_record(late, {.inode = 100 + i, .reads = true, .path = "/d/" + std::to_string(i)}));
  stages.correlator.end(9000, stages.events);
  for (const FileUse& each : stages.all<FileUse>())
    if (each.process->pid == late.pid) ++named[late.pid];
  CHECK(named[late.pid] == kFiles);
}

TEST_CASE("a path is what it was, whatever its folder") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.inode = 5, .reads = true, .path = "/a"});
  use(stages, {.inode = 6, .reads = true, .path = "/d/a"});
  use(stages, {.inode = 7, .reads = true, .path = "/d/e/a"});
  end(stages, 0);
  const auto uses = stages.all<FileUse>();
  REQUIRE(uses.size() == 3);
  CHECK(uses[0].path == "/a");
  CHECK(uses[1].path == "/d/a");
  CHECK(uses[2].path == "/d/e/a");
}

TEST_CASE("what lives at the end may be asked for part by part") {
  Stages stages;
  for (std::uint32_t pid = 1; pid <= 5; ++pid) {
    const Who who{.pid = pid, .start_ns = 1000, .comm = "sort"};
    stages.push(wire::start_record(who));
    stages.push(wire::file_use_record(who, {.inode = 5, .reads = true, .path = "/d/a"}));
    stages.push(wire::file_use_record(who, {.inode = 6, .reads = true, .path = "/d/b"}));
  }
  std::vector<Event> all;
  int parts = 1;
  for (bool done = false; !done; ++parts) {
    std::vector<Event> part;
    done = stages.correlator.end(7000, part, 3);
    CHECK(part.size() <= 4);
    all.insert(all.end(), part.begin(), part.end());
  }
  CHECK(parts > 2);
  CHECK(collect::all_of<FileUse>(all).size() == 10);
}

TEST_CASE("what lives at the end is reported, once") {
  Stages stages;
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 1, .read_bytes = 10, .closed_ns = 2000, .reads = true, .path = "/d/a"});
  stages.correlator.end(7000, stages.events);
  const auto use = stages.last<FileUse>();
  CHECK(use.time_ns == 7000);
  CHECK(use.path == "/d/a");
  stages.correlator.end(8000, stages.events);
  CHECK(stages.all<FileUse>().size() == 1);
}

TEST_CASE("without the family nothing is reported") {
  Stages stages;
  std::vector<Event> ended;
  stages.correlator.stop(Family::kFiles, 0, ended);
  stages.push(wire::start_record(kReader));
  use(stages, {.opens = 1, .closed_ns = 2000, .reads = true, .path = "/d/a"});
  end(stages, 0);
  CHECK(stages.all<FileUse>().empty());
}

TEST_CASE("the examples of rules/files.toml") {
  REQUIRE(FileRules::builtin().examples().size() > 10);
  for (const FileExample& example : FileRules::builtin().examples()) {
    CAPTURE(example.path);
    CHECK(FileRules::builtin().is_noise(example.path) == example.noise);
  }
  CHECK_FALSE(FileRules::builtin().is_noise(""));
  CHECK_FALSE(FileRules::builtin().is_noise("/"));
}

TEST_CASE("mistakes in rules on files are told with their lines") {
  try {
    FileRules::parse("schema = 1\n[[noise]]\nfolders = [\"usr/\"]\nfilesystems = { a = -1 }\n", "x.toml");
    FAIL("no mistake");
  } catch (const Error& error) {
    CHECK(error.problems().size() == 3);
  }
}
