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
    use.reads = use.reads_earlier = true;
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
  CHECK(!contents[0].begun);
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
  use.contents_begun.reset();
  use.modified_meanwhile.reset();
  use.opened_to_write = true;
  CHECK(content_use(use).surely_writes);
  CHECK(!content_use(use).begins);
  use.size_bytes = 7;
  use.written_bytes = 7;
  CHECK(content_use(use).begins);
  use.written_bytes = 3;
  CHECK(!content_use(use).begins);
  use.created = true;
  CHECK(content_use(use).begins);
}
