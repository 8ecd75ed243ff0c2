// SPDX-License-Identifier: Apache-2.0
/// What is left when memory runs out.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

#include <doctest/doctest.h>

#include <tracer/sink.hpp>
#include <tracer/table.hpp>

#include "arrow_check.hpp"
#include "builders.hpp"
#include "temp_file.hpp"

namespace {

/// How many allocations of this thread still succeed; negative: all.
thread_local long allocations_left = -1;

class NoMemoryAfter {
 public:
  explicit NoMemoryAfter(long allocations) { allocations_left = allocations; }
  ~NoMemoryAfter() { allocations_left = -1; }
  NoMemoryAfter(const NoMemoryAfter&) = delete;
  NoMemoryAfter& operator=(const NoMemoryAfter&) = delete;
};

}  // namespace

// Inlined, the compiler would take malloc() and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace tracer;

TEST_CASE("a table whose columns can't all be finished is empty, and no column has what others lack") {
  for (const Table table : {Table::kProcesses, Table::kEvents}) {
    const auto filled = [table] {
      TableBuilder builder(table);
      for (std::uint32_t pid = 1; pid <= 20; ++pid) builder.add(build::exit(pid));
      return builder;
    };
    ArrowSchema schema{};
    export_table_schema(table, &schema);
    bool failed = true;
    for (long allocations = 0; failed; ++allocations) {
      CAPTURE(allocations);
      TableBuilder builder = filled();
      ArrowArray array{};
      failed = false;
      try {
        const NoMemoryAfter limit(allocations);
        builder.finish(&array);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      if (failed) {
        CHECK((array.release == nullptr));
        CHECK(builder.rows() == 0);
        builder.add(build::exit(21));
        builder.finish(&array);
      }
      CHECK(array.length == (failed ? 1 : 20));
      arrow_check::check(schema, array);
      array.release(&array);
    }
    schema.release(&schema);
  }
}

TEST_CASE("a JSON sink that runs out of memory says so, is quiet, and leaves whole lines") {
  std::vector<Event> events;
  for (std::uint32_t pid = 1; pid <= 20; ++pid) events.emplace_back(build::exit(pid));
  bool failed = false;
  for (long allocations = 0; allocations < 40; ++allocations) {
    CAPTURE(allocations);
    const TempFile file;
    const auto sink = json_sink(file.path(), HostInfo{});
    {
      const NoMemoryAfter limit(allocations);
      sink->write(events);
    }
    if (!sink->problem()) continue;
    failed = true;
    CHECK(sink->problem()->code == ErrorCode::kNoMemory);
    sink->write(events);
    sink->flush();
    std::ifstream lines(file.path());
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      CHECK(line.front() == '{');
      CHECK(line.back() == '}');
    }
    CHECK(count < events.size() + 1);
  }
  CHECK(failed);
}
