// SPDX-License-Identifier: Apache-2.0
/// Which task read what another wrote, by uses of files with known truth.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "builders.hpp"
#include "report/lineage.hpp"
#include "report/sums/run_folder.hpp"
#include "show/lineage_text.hpp"
#include "show/screen.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

FileUse use_by(const std::string& task, const std::string& path, std::uint64_t inode, std::uint64_t close_ns) {
  FileUse use;
  auto context = std::make_shared<Context>();
  context->run = "r";
  context->run_key = Key{1};
  context->task = task;
  context->task_key = Key{std::hash<std::string>{}(task) | 1};
  auto process = std::make_shared<Process>();
  process->start_ns = close_ns - 1;
  process->context = std::move(context);
  use.process = std::move(process);
  use.path = path;
  use.device = 1;
  use.inode = inode;
  use.last_close_ns = close_ns;
  use.time_ns = close_ns + 1000;
  use.renames = 0;
  use.deletes = 0;
  return use;
}

/// A use of a file with this inode by the task of this name.
void add(LineageBuilder& builder, const std::string& task, const std::string& path, std::uint64_t inode,
         std::uint64_t close_ns, bool reads, bool writes, bool created = false) {
  FileUse use = use_by(task, path, inode, close_ns);
  use.opens = 1;
  use.opened_to_read = reads;
  use.opened_to_write = writes;
  use.created = created;
  use.size_bytes = 100;
  if (reads && !writes) use.read_bytes = 100;
  if (writes && !reads) use.written_bytes = 100;
  builder.add(use, 0, 0);
}

/// By a program that does nothing else.
void rename(LineageBuilder& builder, const std::string& task, const std::string& from, const std::string& to,
            std::uint64_t inode, std::uint64_t time_ns) {
  FileUse use = use_by(task, from, inode, time_ns);
  use.renamed_to = to;
  use.renames = 1;
  builder.add(use, 0, 0);
}

void remove(LineageBuilder& builder, const std::string& task, const std::string& path, std::uint64_t inode,
            std::uint64_t time_ns) {
  FileUse use = use_by(task, path, inode, time_ns);
  use.deletes = 1;
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

TEST_CASE("a file is called as it was renamed last, also if nobody reads it then") {
  LineageBuilder builder;
  add(builder, "align", "/out.tmp", 2, 10, false, true, true);
  rename(builder, "align", "/out.tmp", "/out.bam", 2, 20);
  // Who opened it before, closes it by its old name.
  add(builder, "look", "/out.tmp", 2, 30, true, false);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.files.size() == 1);
  const LineageFile& file = file_of(lineage, "/out.bam");
  CHECK(file.other_paths == std::vector<std::string>{"/out.tmp"});
  CHECK(file.role == FileRole::kIntermediate);
  CHECK(file.opens == 2);
  CHECK(file.deleted == false);
  CHECK(file.writers == std::vector<std::size_t>{0});
  CHECK(file.readers == std::vector<std::size_t>{1});
  CHECK(lineage.edges.size() == 3);
}

TEST_CASE("who writes and renames a file is its writer under the new name, for whoever reads it next") {
  LineageBuilder builder;
  FileUse use = use_by("align", "/out.tmp", 2, 20);
  use.opens = 1;
  use.opened_to_write = use.created = true;
  use.renamed_to = "/out.bam";
  use.renames = 1;
  // It is closed by a reader before.
  add(builder, "sort", "/out.bam", 2, 15, true, false);
  builder.add(use, 0, 0);
  add(builder, "sort", "/out.bam", 2, 30, true, false);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.files.size() == 1);
  CHECK(lineage.files[0].path == "/out.bam");
  CHECK(lineage.files[0].role == FileRole::kIntermediate);
}

TEST_CASE("a file that is renamed back has its first name again") {
  LineageBuilder builder;
  add(builder, "a", "/x", 2, 10, false, true, true);
  rename(builder, "a", "/x", "/x.bak", 2, 20);
  rename(builder, "b", "/x.bak", "/x", 2, 30);
  add(builder, "b", "/x", 2, 40, true, false);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.files.size() == 1);
  CHECK(lineage.files[0].path == "/x");
  CHECK(lineage.files[0].other_paths == std::vector<std::string>{"/x.bak"});
}

TEST_CASE("a file that is renamed to the name of another takes its place, and the other is deleted") {
  LineageBuilder builder;
  add(builder, "a", "/out", 2, 10, false, true, true);
  add(builder, "b", "/out.tmp", 3, 20, false, true, true);
  rename(builder, "b", "/out.tmp", "/out", 3, 30);
  remove(builder, "b", "/out", 2, 30);
  add(builder, "c", "/out", 3, 40, true, false);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.files.size() == 2);
  CHECK(lineage.files[0].deleted == true);
  CHECK(lineage.files[0].role == FileRole::kOutput);
  CHECK(lineage.files[1].path == "/out");
  CHECK(lineage.files[1].deleted == false);
  CHECK(lineage.files[1].role == FileRole::kIntermediate);
}

TEST_CASE("what is made under the number and the name of a deleted file is another") {
  LineageBuilder builder;
  add(builder, "a", "/x", 2, 10, false, true, true);
  remove(builder, "a", "/x", 2, 20);
  add(builder, "b", "/x", 2, 30, false, true, true);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.files.size() == 2);
  CHECK(lineage.files[0].deleted == true);
  CHECK(lineage.files[1].deleted == false);
  CHECK(lineage.files[1].writers == std::vector<std::size_t>{1});
}

TEST_CASE("who only renames or deletes a file has an edge that says so, beside those who read and wrote it") {
  LineageBuilder builder;
  remove(builder, "a", "/old", 1, 5);
  rename(builder, "a", "/p", "/q", 2, 6);
  add(builder, "b", "/x.tmp", 3, 10, false, true, true);
  rename(builder, "b", "/x.tmp", "/x", 3, 11);
  rename(builder, "c", "/x", "/y", 3, 12);
  remove(builder, "c", "/y", 3, 13);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.files.size() == 3);
  CHECK(file_of(lineage, "/old").role == FileRole::kUntouched);
  CHECK(file_of(lineage, "/old").deleted == true);
  CHECK(file_of(lineage, "/q").role == FileRole::kUntouched);
  CHECK(file_of(lineage, "/q").opens == 0);
  CHECK_FALSE(file_of(lineage, "/q").written_bytes.has_value());
  CHECK(file_of(lineage, "/y").role == FileRole::kOutput);
  CHECK(file_of(lineage, "/y").size_bytes == 100);
  std::vector<std::string> edges;
  for (const LineageEdge& edge : lineage.edges)
    edges.push_back(lineage.tasks[edge.task].name + ' ' + to_string(edge.mode) + ' ' + lineage.files[edge.file].path);
  CHECK(edges == std::vector<std::string>{"a delete /old", "a rename /q", "b write /y", "b rename /y", "c rename /y",
                                          "c delete /y"});
  CHECK(to_json(lineage).find("\"role\":\"untouched\"") != std::string::npos);
  CHECK(to_json(lineage).find("\"mode\":\"delete\"") != std::string::npos);
  const std::string text = lineage_text(lineage);
  CHECK(text.find("renames  /y") != std::string::npos);
  CHECK(text.find("renames  /y") > text.find("c\n"));
  CHECK(text.find("from b") != std::string::npos);
  CHECK(text.find("only renamed, deleted or opened: 2 files") != std::string::npos);
  CHECK(lineage_dot(lineage).find("/old") == std::string::npos);
}

TEST_CASE("files that are read again and again are counted, with what was read of them") {
  LineageBuilder builder;
  add(builder, "a", "/once", 1, 5, true, false);
  add(builder, "a", "/twice", 2, 6, true, false);
  CHECK(files_text(builder.build()).find("again") == std::string::npos);
  add(builder, "b", "/twice", 2, 7, true, false);
  CHECK(files_text(builder.build()).find("read again and again, twice their size or more: 1 file, 200 B\n") !=
        std::string::npos);
  // By a loop that writes it anew each time.
  FileUse loop = use_by("loop", "/scratch", 3, 100);
  loop.opened_to_read = loop.opened_to_write = true;
  loop.contents_begun = 5;
  loop.read_bytes = 500;
  loop.size_bytes = 100;
  builder.add(loop, 0, 0);
  CHECK(files_text(builder.build()).find("1 file, 200 B\n") != std::string::npos);
}

TEST_CASE("deletes are shown where they are seen, and named as missing where not") {
  LineageBuilder builder;
  add(builder, "a", "/x", 2, 10, false, true, true);
  remove(builder, "a", "/x", 2, 20);
  const LineageGraph lineage = builder.build();
  CHECK(to_json(lineage).find("\"deleted\":true") != std::string::npos);
  CHECK(files_text(lineage).find("output, deleted") != std::string::npos);
  CHECK(files_text(lineage).find("deleted, of all these: 1 file, 100 B\n") != std::string::npos);
  CHECK(files_text(lineage).find("not seen") == std::string::npos);
  CHECK(lineage_text(lineage).find("deleted") != std::string::npos);
  LineageBuilder unseen;
  FileUse use = use_by("a", "/x", 2, 10);
  use.opens = 1;
  use.opened_to_write = true;
  use.renames.reset();
  use.deletes.reset();
  unseen.add(use, 0, 0);
  CHECK(to_json(unseen.build()).find("deleted") == std::string::npos);
  CHECK(files_text(unseen.build()).find("not seen: renames and deletes") != std::string::npos);
}

TEST_CASE("where UTF-8 can't be shown, lineages are shown in ASCII, but for the graph's file") {
  LineageBuilder builder;
  for (std::uint64_t i = 0; i < 50; ++i)
    add(builder, "sortier\u00e9", "/" + std::string(i == 0 ? 300 : 20, 'd') + "/\u00e9" + std::to_string(i), 2 + i,
        10 + i, false, true, true);
  const LineageGraph lineage = builder.build();
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  const Utf8Scope plain(false);
  CHECK(is_ascii(lineage_text(lineage)));
  CHECK(lineage_text(lineage).find("... 42 files more") != std::string::npos);
  CHECK(lineage_text(lineage).find("sortier\\xc3\\xa9\n") != std::string::npos);
  CHECK(is_ascii(files_text(lineage)));
  CHECK(files_text(lineage).find("... 10 files more (all: --json)\n") != std::string::npos);
  CHECK(lineage_dot(lineage).find("sortier\u00e9") != std::string::npos);
  const Utf8Scope utf8(true);
  CHECK(lineage_text(lineage).find("\u2026 42 files more") != std::string::npos);
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

TEST_CASE("a script without an engine is a graph of its tools, an engine's own work is one") {
  LineageBuilder builder;
  const auto use_of = [&](const std::string& tool, std::optional<std::string> engine, const std::string& path,
                          std::uint64_t inode, bool writes) {
    FileUse use = use_by("none", path, inode, 10 * inode + (writes ? 0 : 5));
    Context context;
    context.run_key = Key{engine ? 2u : 1u};
    context.pipeline = engine ? "Snakefile" : "pipe.sh";
    context.engine = std::move(engine);
    use.process = build::process({.pid = 1, .tool = tool, .context = context});
    use.opens = 1;
    (writes ? use.opened_to_write : use.opened_to_read) = true;
    builder.add(use, 0, 0);
  };
  use_of("bwa mem", {}, "/d/S1.sam", 1, true);
  use_of("samtools sort", {}, "/d/S1.sam", 1, false);
  use_of("samtools sort", {}, "/d/S1.bam", 2, true);
  use_of("snakemake", "snakemake", "/d/list", 3, true);
  use_of("cbc", "snakemake", "/d/list", 3, false);
  const LineageGraph lineage = builder.build();
  REQUIRE(lineage.tasks.size() == 3);
  CHECK(lineage.tasks[0].name == "bwa mem");
  CHECK(lineage.tasks[1].tool == "samtools sort");
  CHECK(lineage.tasks[2].name == "Snakefile");
  CHECK_FALSE(lineage.tasks[2].tool);
  CHECK(file_of(lineage, "/d/S1.sam").readers == std::vector<std::size_t>{1});
  CHECK(lineage_text(lineage).find("from bwa mem") != std::string::npos);
  CHECK(to_json(lineage).find("\"tool\":\"bwa mem\"") != std::string::npos);
  CHECK(to_json(lineage).find("\"task\":1,\"path\":\"/d/S1.sam\"") != std::string::npos);
}

TEST_CASE("people see paths relative to the runs' folder") {
  LineageBuilder builder;
  add(builder, "a", "/home/a/proj/in/x", 1, 5, true, false);
  add(builder, "a", "/home/a/project/y", 2, 6, true, false);
  LineageGraph lineage = builder.build();
  CHECK(files_text(lineage).find("relative") == std::string::npos);
  CHECK(files_text(lineage).find(" /home/a/proj/in/x") != std::string::npos);
  lineage.folder = "/home/a/proj";
  for (const std::string& text : {files_text(lineage), lineage_text(lineage)}) {
    CHECK(text.find("paths are relative to /home/a/proj\n") == 0);
    CHECK(text.find("  in/x") != std::string::npos);
    CHECK(text.find("  /home/a/project/y") != std::string::npos);
  }
  CHECK(to_json(lineage).find("\"/home/a/proj/in/x\"") != std::string::npos);
}

TEST_CASE("the runs' folder is that of their first programs, or the nearest above these") {
  RunFolder folder;
  const auto exec = [&](std::uint64_t run, const char* cwd) {
    Context context;
    context.run_key = Key{run};
    ProcessExec event;
    event.process = build::process({.pid = 1, .cwd = cwd, .context = context});
    folder.add(event);
  };
  CHECK(folder.path().empty());
  exec(1, "/home/a/proj/one");
  exec(1, "/home/b");
  CHECK(folder.path() == "/home/a/proj/one");
  exec(2, "/home/a/project");
  CHECK(folder.path() == "/home/a");
  exec(3, "/");
  CHECK(folder.path().empty());
}

TEST_CASE("in the graph files that the same tasks wrote and read are one note") {
  LineageBuilder builder;
  std::uint64_t inode = 0;
  const auto pass = [&](const std::string& path, const std::vector<std::string>& writers,
                        const std::vector<std::string>& readers) {
    ++inode;
    for (const std::string& each : writers) add(builder, each, path, inode, 10 * inode, false, true);
    for (const std::string& each : readers) add(builder, each, path, inode, 10 * inode + 5, true, false);
  };
  pass("/w/data/S1_R1.fq", {}, {"align"});
  pass("/w/data/S1_R2.fq", {}, {"align"});
  pass("/w/work/ab/0123456789abcdef0123456789abcd/S1.bam", {"align"}, {"index", "stats"});
  pass("/w/S1.log", {"align"}, {"align"});
  pass("/w/a\"b", {"stats"}, {});
  pass("/w/other", {"stats"}, {});
  pass("/w/gone", {"stats"}, {"stats"});
  remove(builder, "stats", "/w/gone", inode, 1000);
  LineageGraph lineage = builder.build();
  lineage.folder = "/w";
  CHECK(lineage_dot(lineage) ==
        "digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n"
        "  t0 [label=\"align\"];\n  t1 [label=\"index\"];\n  t2 [label=\"stats\"];\n  node [shape=note];\n"
        "  f0 [label=\"data/S1_R*.fq\\n2 files, 200 B\"];\n  f0 -> {t0};\n"
        "  f1 [label=\"S1.log\\n100 B\"];\n  {t0} -> f1;\n"
        "  f2 [label=\"work/ab/012345\u2026/S1.bam\\n100 B\"];\n  {t0} -> f2 -> {t1 t2};\n"
        "  f3 [label=\"a\\\"b and others\\n2 files, 200 B\"];\n  {t2} -> f3;\n}\n");
}

TEST_CASE("with many tasks the graph has a box for each step") {
  LineageBuilder builder;
  for (std::uint64_t i = 0; i < 30; ++i) {
    for (const char* step : {"align", "sort"}) {
      FileUse use = use_by(step + std::to_string(i), "/w/\u00e9" + std::to_string(i) + ".bam", i + 1,
                           10 + (step[0] == 's' ? 5 : 0));
      auto process = std::make_shared<Process>(*use.process);
      auto context = std::make_shared<Context>(*process->context);
      context->step = step;
      process->context = std::move(context);
      use.process = std::move(process);
      use.opens = 1;
      (step[0] == 's' ? use.opened_to_read : use.opened_to_write) = true;
      use.size_bytes = 100;
      builder.add(use, 0, 0);
    }
  }
  const std::string dot = lineage_dot(builder.build());
  CHECK(dot.find("[label=\"align\\n30 tasks\"]") != std::string::npos);
  CHECK(dot.find("[label=\"/w/\u00e9*.bam\\n30 files, 2.9 KiB\"]") != std::string::npos);
  CHECK(std::count(dot.begin(), dot.end(), '\n') == 9);
}

namespace {

/// As recordings have it now, of a kernel that shows no opens.
FileUse unseen(const std::string& task, std::uint64_t start_ns, std::uint64_t close_ns, bool reads, bool writes) {
  FileUse use = use_by(task, "/f", 1, close_ns);
  auto process = std::make_shared<Process>(*use.process);
  process->start_ns = start_ns;
  use.process = std::move(process);
  use.generation = 1;
  use.opens = 1;
  use.size_bytes = 100;
  use.opened_to_read = reads;
  use.opened_to_write = writes;
  use.contents_begun = 0;
  if (reads) use.read_earlier_content = true;
  if (reads && !writes) use.read_bytes = 100;
  if (writes) use.modified_meanwhile = true;
  return use;
}

}  // namespace

TEST_CASE("what is only possible is worded so, also where a file was read for certain and perhaps written") {
  LineageBuilder builder;
  FileUse made = unseen("V1", 10, 20, false, true);
  made.contents_begun = 1;
  builder.add(made, 0, 0);
  builder.add(unseen("R", 30, 40, true, false), 0, 0);
  FileUse again = unseen("V2", 50, 60, true, true);
  again.contents_begun.reset();
  again.read_earlier_content.reset();
  builder.add(again, 0, 0);
  builder.add(unseen("D", 70, 80, true, false), 0, 0);
  const LineageGraph lineage = builder.build();
  std::vector<std::string> edges;
  for (const LineageEdge& edge : lineage.edges) {
    edges.push_back(lineage.tasks[edge.task].name + ' ' + to_string(edge.mode) + (edge.certain ? "" : "?"));
    for (const std::size_t from : edge.from) edges.back() += " from " + lineage.tasks[from].name;
    for (const std::size_t from : edge.may_from) edges.back() += " maybe from " + lineage.tasks[from].name;
  }
  CHECK(edges == std::vector<std::string>{"V1 write", "R read from V1", "V2 read? maybe from V1", "V2 write",
                                          "D read from V2 maybe from V1"});
  CHECK(lineage_text(lineage).find("  maybe reads  /f") != std::string::npos);
  // Whether it was read twice is not known.
  CHECK(files_text(lineage).find("again") == std::string::npos);
}

TEST_CASE("who is known to be read from is not also one that may be") {
  LineageBuilder builder;
  FileUse made = unseen("A", 10, 20, false, true);
  made.contents_begun = 1;
  builder.add(made, 0, 0);
  FileUse append = unseen("A", 25, 60, false, true);
  append.written_bytes = 5;
  builder.add(append, 0, 0);
  builder.add(unseen("B", 30, 40, true, false), 0, 0);
  for (const LineageEdge& edge : builder.build().edges) {
    if (edge.mode != FileMode::kRead) continue;
    CHECK(edge.from.size() == 1);
    CHECK(edge.may_from.empty());
  }
}
