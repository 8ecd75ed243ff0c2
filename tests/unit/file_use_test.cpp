// SPDX-License-Identifier: Apache-2.0
/// What becomes of the records of the family files, and which files are noise.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "collect.hpp"
#include "report/lineage.hpp"
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

namespace {

/// A use of a file with this inode by the task of this name.
void add(LineageBuilder& builder, const std::string& task, const std::string& path, std::uint64_t inode,
         std::uint64_t close_ns, bool reads, bool writes, bool created = false) {
  FileUse use;
  auto context = std::make_shared<Context>();
  context->run = "r";
  context->run_key = Key{1};
  context->task = task;
  context->task_key = Key{std::hash<std::string>{}(task) | 1};
  auto process = std::make_shared<Process>();
  process->context = std::move(context);
  use.process = std::move(process);
  use.path = path;
  use.device = 1;
  use.inode = inode;
  use.last_close_ns = close_ns;
  use.opens = 1;
  use.opened_to_read = reads;
  use.opened_to_write = writes;
  use.created = created;
  use.size_bytes = 100;
  if (reads && !writes) use.read_bytes = 100;
  if (writes && !reads) use.written_bytes = 100;
  builder.add(use, 0, 0);
}

const LineageFile& file_of(const LineageGraph& lineage, const std::string& path) {
  for (const LineageFile& file : lineage.files)
    if (file.path == path) return file;
  FAIL("no " << path);
  return lineage.files.front();
}

}  // namespace

TEST_CASE("written by A, read by B: by the file, though it was renamed in between") {
  LineageBuilder builder;
  add(builder, "align", "/in.fq", 1, 10, true, false);
  add(builder, "align", "/out.bam.tmp", 2, 20, false, true, true);
  add(builder, "sort", "/out.bam", 2, 30, true, false);
  add(builder, "sort", "/sorted.bam", 3, 40, false, true, true);
  const LineageGraph lineage = builder.build();
  CHECK(lineage.tasks.size() == 2);
  REQUIRE(lineage.files.size() == 3);
  CHECK(file_of(lineage, "/in.fq").role == FileRole::kInput);
  CHECK(file_of(lineage, "/sorted.bam").role == FileRole::kOutput);
  const LineageFile& between = file_of(lineage, "/out.bam");
  CHECK(between.role == FileRole::kIntermediate);
  CHECK(between.other_paths == std::vector<std::string>{"/out.bam.tmp"});
  CHECK(between.writers == std::vector<std::size_t>{0});
  CHECK(between.readers == std::vector<std::size_t>{1});
  CHECK(lineage.edges.size() == 4);
}

TEST_CASE("an inode that is given again is another file") {
  LineageBuilder builder;
  add(builder, "a", "/tmp/x", 2, 10, false, true, true);
  add(builder, "b", "/data/y", 2, 20, false, true, true);
  add(builder, "c", "/data/y", 2, 30, true, false);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.files.size() == 2);
  CHECK(file_of(lineage, "/tmp/x").role == FileRole::kOutput);
  CHECK(file_of(lineage, "/data/y").role == FileRole::kIntermediate);
}

TEST_CASE("the JSON of a lineage names tasks by their keys") {
  LineageBuilder builder;
  add(builder, "a", "/tmp/\"x\"", 2, 10, false, true, true);
  const std::string json = to_json(builder.build());
  CHECK(json.find("\"path\":\"/tmp/\\\"x\\\"\"") != std::string::npos);
  CHECK(json.find("\"mode\":\"write\"") != std::string::npos);
  CHECK(json.find("\"written_bytes\":100") != std::string::npos);
  CHECK(json.find("\"task_key\":\"") != std::string::npos);
}
