// SPDX-License-Identifier: Apache-2.0
/// Who read what, of files with several contents, whose truth is known.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/event.hpp>

#include "report/sums/file_contents.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

/// Each by a process of its own, which is called by a letter. Opens are known.
struct Uses {
  std::vector<ContentUse> all = {};
  std::string names = {};

  ContentUse& add(char name, std::uint64_t open_ns, std::uint64_t close_ns) {
    names += name;
    all.push_back({});
    ContentUse& use = all.back();
    use.process_ns = static_cast<unsigned char>(name);
    use.open_from_ns = use.open_to_ns = open_ns;
    use.close_ns = close_ns;
    return use;
  }
  ContentUse& begin(char name, std::uint64_t open_ns, std::uint64_t close_ns, bool created = false) {
    ContentUse& use = add(name, open_ns, close_ns);
    use.begins = use.writes = use.surely_writes = true;
    use.created = created;
    return use;
  }
  ContentUse& append(char name, std::uint64_t open_ns, std::uint64_t close_ns) {
    ContentUse& use = add(name, open_ns, close_ns);
    use.writes = use.surely_writes = true;
    return use;
  }
  ContentUse& read(char name, std::uint64_t open_ns, std::uint64_t close_ns) {
    ContentUse& use = add(name, open_ns, close_ns);
    use.reads = use.reads_earlier = use.surely_reads_earlier = true;
    return use;
  }
  /// To write, by an open that was not seen.
  ContentUse& may_begin(char name, std::uint64_t from_ns, std::uint64_t close_ns) {
    ContentUse& use = append(name, from_ns, close_ns);
    use.open_to_ns = close_ns;
    use.may_begin = use.may_be_several = true;
    return use;
  }
  /// "AB" for what B read of A; what is not certain ends with "?".
  std::set<std::string> passes() const {
    std::set<std::string> found;
    for (const Content& content : contents_of(all))
      for (const ContentPart& reader : content.readers)
        for (const ContentPart& writer : content.writers) {
          const Passed how = passed(all, content, writer, reader);
          const std::string pair{names[writer.use], names[reader.use]};
          if (how == Passed::kYes) found.insert(pair);
          if (how == Passed::kMaybe) found.insert(pair + '?');
        }
    return found;
  }
};

using Passes = std::set<std::string>;

FileUse use_of(std::uint64_t start_ns, std::uint64_t close_ns) {
  FileUse use;
  auto process = std::make_shared<Process>();
  process->start_ns = start_ns;
  use.process = std::move(process);
  use.opens = 1;
  use.last_close_ns = close_ns;
  use.generation = 1;
  use.contents_begun = 0;
  use.modified_meanwhile = false;
  return use;
}

}  // namespace

TEST_CASE("a reader has what was there when it opened the file") {
  Uses uses;
  uses.begin('A', 10, 20, true);
  uses.read('B', 30, 40);
  uses.begin('C', 50, 60);
  uses.read('D', 70, 80);
  CHECK(uses.passes() == Passes{"AB", "CD"});
  CHECK(contents_of(uses.all).size() == 2);
}

TEST_CASE("what was there before anybody wrote is a content of its own") {
  Uses uses;
  uses.read('A', 10, 20);
  uses.begin('B', 30, 40);
  uses.read('C', 50, 60);
  CHECK(uses.passes() == Passes{"BC"});
  const auto contents = contents_of(uses.all);
  REQUIRE(contents.size() == 2);
  CHECK(contents[0].writers.empty());
}

TEST_CASE("where the time of an open is not known, a reader may have another content") {
  Uses uses;
  uses.begin('A', 10, 20, true);
  uses.begin('C', 50, 60);
  ContentUse& late = uses.read('D', 40, 80);
  late.open_to_ns = 80;
  CHECK(uses.passes() == Passes{"AD?", "CD?"});
}

TEST_CASE("a file that was made had no content before, so who reads it reads that one") {
  Uses uses;
  uses.begin('A', 10, 40, true).open_to_ns = 40;
  uses.read('B', 5, 60).open_to_ns = 60;
  CHECK(uses.passes() == Passes{"AB"});
  uses.all[0].created = false;
  CHECK(uses.passes() == Passes{"AB?"});
}

TEST_CASE("who reads while it is written reads from the writer") {
  Uses uses;
  uses.begin('A', 10, 100, true);
  uses.read('B', 20, 30);
  CHECK(uses.passes() == Passes{"AB"});
}

TEST_CASE("one that sorts a file into itself reads the earlier content") {
  Uses uses;
  uses.begin('A', 10, 20, true);
  ContentUse& sort = uses.read('S', 30, 50);
  sort.open_to_ns = 50;
  sort.begins = sort.writes = sort.surely_writes = true;
  uses.read('C', 60, 70);
  CHECK(uses.passes() == Passes{"AS", "SC"});
}

TEST_CASE("who appends passes nothing to those that have read before") {
  Uses uses;
  uses.begin('A', 10, 20, true);
  uses.read('B', 30, 40);
  uses.append('C', 50, 60);
  uses.read('D', 70, 80);
  CHECK(uses.passes() == Passes{"AB", "AD", "CD"});
}

TEST_CASE("who writes on while a file is read may have been read") {
  Uses uses;
  uses.begin('A', 10, 20, true);
  uses.append('C', 50, 100);
  uses.read('D', 70, 80);
  CHECK(uses.passes() == Passes{"AD", "CD?"});
}

TEST_CASE("a change says who wrote only where nobody else was at it") {
  Uses uses;
  ContentUse& one = uses.append('A', 10, 30);
  one.writes_by_time = true;
  uses.read('B', 40, 50);
  CHECK(uses.passes() == Passes{"AB"});
  uses.append('C', 20, 25).writes_by_time = true;
  CHECK(uses.passes() == Passes{"AB?", "CB?"});
}

TEST_CASE("an open for reading and writing that modified nothing is one for reading") {
  FileUse use = use_of(10, 50);
  use.opened_to_read = use.opened_to_write = true;
  CHECK(!content_use(use).writes);
  use.modified_meanwhile = true;
  CHECK(content_use(use).surely_writes);
  CHECK(content_use(use).writes_by_time);
  use.modified_meanwhile.reset();
  CHECK(content_use(use).writes);
  CHECK(!content_use(use).surely_writes);
}

TEST_CASE("without its open, a use began after its process") {
  FileUse use = use_of(10, 50);
  use.opened_to_read = true;
  CHECK(content_use(use).open_from_ns == 10);
  CHECK(content_use(use).open_to_ns == 50);
  use.first_open_ns = 20;
  CHECK(content_use(use).open_from_ns == 20);
  CHECK(content_use(use).open_to_ns == 20);
  use.opens = 2;
  CHECK(content_use(use).open_to_ns == 50);
}

TEST_CASE("earlier recordings say who made a file and who wrote all of it") {
  FileUse use = use_of(10, 50);
  use.generation.reset();
  use.contents_begun.reset();
  use.modified_meanwhile.reset();
  use.opened_to_write = true;
  CHECK(content_use(use).surely_writes);
  CHECK(!content_use(use).may_begin);
  CHECK(!content_use(use).begins);
  use.size_bytes = 7;
  use.written_bytes = 7;
  CHECK(content_use(use).begins);
  use.written_bytes = 3;
  CHECK(!content_use(use).begins);
  use.created = true;
  CHECK(content_use(use).begins);
}

TEST_CASE("who may have emptied a file leaves what others wrote before to later readers as possible only") {
  Uses uses;
  uses.begin('A', 10, 20, true);
  uses.read('R', 22, 25);
  uses.may_begin('U', 30, 40);
  uses.read('D', 50, 60);
  CHECK(uses.passes() == Passes{"AR", "AD?", "UD"});
  // It read, too: its own or what was there.
  ContentUse& both = uses.may_begin('V', 70, 80);
  both.reads = both.reads_earlier = true;
  uses.append('W', 90, 95);
  uses.read('E', 96, 99);
  CHECK(uses.passes() == Passes{"AR", "AD?", "UD", "AV?", "UV?", "VV?", "AE?", "UE?", "VE", "WE"});
}

TEST_CASE("many that may have emptied a file leave nothing certain that is not") {
  Uses uses;
  uses.begin('A', 10, 20, true);
  for (std::uint64_t i = 0; i < 100; ++i) uses.may_begin('U', 30 + i, 31 + i).process_ns = 1000 + i;
  uses.read('D', 200, 210);
  CHECK(uses.passes() == Passes{"AD?", "UD?"});
}

TEST_CASE("a process that has written files which are not told apart may have written any") {
  FileUse use = use_of(25, 40);
  use.folded = "others";
  MayBegins unnamed;
  unnamed.add_unnamed(use);
  CHECK(!unnamed.any_before(41));
  use.opened_to_write = true;
  unnamed.add_unnamed(use);
  CHECK(unnamed.any_before(41));
  CHECK(!unnamed.any_before(25));
  Uses uses;
  uses.begin('A', 10, 20, true);
  uses.read('B', 22, 24);
  uses.read('C', 50, 60);
  const auto contents = contents_of(uses.all);
  REQUIRE(contents.size() == 1);
  const auto& [writers, readers, others, may_begin, known] = contents[0];
  CHECK(passed(uses.all, contents[0], writers[0], readers[0], unnamed) == Passed::kYes);
  CHECK(passed(uses.all, contents[0], writers[0], readers[1], unnamed) == Passed::kMaybe);
  // What it has written under a name is told apart.
  uses.all[0].process_ns = 25;
  CHECK(passed(uses.all, contents[0], writers[0], readers[1], unnamed) == Passed::kYes);
}

TEST_CASE("of contents that may have begun within another's time any may be the last") {
  Uses uses;
  uses.begin('P', 1, 100).open_to_ns = 100;
  uses.begin('Q', 50, 60).open_to_ns = 60;
  uses.read('R', 200, 210);
  CHECK(uses.passes() == Passes{"PR?", "QR?"});
  uses.begin('S', 150, 160).open_to_ns = 160;
  CHECK(uses.passes() == Passes{"SR"});
}

TEST_CASE("who begins a content reads that, unless another began one meanwhile") {
  Uses uses;
  uses.begin('P', 10, 100).reads = true;
  CHECK(uses.passes() == Passes{"PP"});
  uses.all[0].open_to_ns = 100;
  uses.begin('Q', 50, 60);
  CHECK(uses.passes() == Passes{"PP?", "QP?"});
}

TEST_CASE("a number that a process was given twice is of two files") {
  Uses uses;
  uses.begin('P', 10, 30, true).open_to_ns = 30;
  uses.begin('P', 10, 90, true).open_to_ns = 90;
  for (ContentUse& use : uses.all) use.reads = true;
  const auto contents = contents_of(uses.all);
  REQUIRE(contents.size() == 2);
  for (const Content& content : contents) {
    CHECK(content.writers.size() == 1);
    REQUIRE(content.readers.size() == 1);
    CHECK(content.readers[0].certain);
  }
}

TEST_CASE("who could write to an empty file has read nothing of it, and who could not write has written nothing") {
  FileUse use = use_of(10, 50);
  use.opened_to_read = use.created = true;
  use.contents_begun = 1;
  use.read_earlier_content = false;
  use.size_bytes = 0;
  CHECK(!content_use(use).reads);
  const auto contents = contents_of({content_use(use)});
  REQUIRE(contents.size() == 1);
  CHECK(contents[0].writers.empty());
  CHECK(contents[0].readers.empty());
  CHECK(contents[0].others.size() == 1);
  use.size_bytes = 5;
  CHECK(content_use(use).reads);
  use.read_bytes = 0;
  CHECK(!content_use(use).reads);
  use.created = false;
  CHECK(content_use(use).reads);
  use.opened_to_write = true;
  CHECK(!content_use(use).reads);
}

TEST_CASE("whether an open that was not seen began a content is not known") {
  FileUse use = use_of(10, 50);
  use.opened_to_read = use.opened_to_write = true;
  use.contents_begun.reset();
  CHECK(!content_use(use).may_begin);
  use.modified_meanwhile = true;
  CHECK(content_use(use).may_begin);
  CHECK(!content_use(use).begins);
  CHECK(content_use(use).reads_earlier);
  CHECK(!content_use(use).surely_reads_earlier);
  use.read_earlier_content = true;
  CHECK(content_use(use).surely_reads_earlier);
}

TEST_CASE("of a file with too many possible pairs nothing is known") {
  Uses uses;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    uses.begin('A', 1, 1000).open_to_ns = 1000;
    uses.read('B', 1, 1000).open_to_ns = 1000;
  }
  const auto contents = contents_of(uses.all);
  REQUIRE(contents.size() == 1);
  CHECK(!contents[0].known);
  CHECK(contents[0].writers.empty());
  CHECK(contents[0].readers.empty());
  CHECK(contents[0].others.size() == 3000);
}
