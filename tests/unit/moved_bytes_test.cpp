// SPDX-License-Identifier: Apache-2.0
#include "report/sums/moved_bytes.hpp"

#include <doctest/doctest.h>

#include <tracer/report.hpp>

using namespace tracer;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

Account wrote(std::optional<std::uint64_t> by_calls, std::uint64_t calls, std::uint64_t dirtied) {
  Account account;
  account.written_bytes = by_calls;
  account.write_calls = calls;
  account.storage_written_bytes = dirtied;
  return account;
}

Account read(std::optional<std::uint64_t> by_calls, std::uint64_t fetched) {
  Account account;
  account.read_bytes = by_calls;
  account.storage_read_bytes = fetched;
  return account;
}

}  // namespace

TEST_CASE("what write calls explain is exact: a call makes whole pages dirty") {
  CHECK(bytes_written(wrote(10 * kMiB, 10, 10 * kMiB)) == Figure{10 * kMiB, Bound::kExact});
  CHECK(bytes_written(wrote(10 * kMiB, 10, 0)) == Figure{10 * kMiB, Bound::kExact});
  CHECK(bytes_written(wrote(1000, 1000, 1000 * 8192)) == Figure{1000, Bound::kExact});
  CHECK(bytes_written(wrote(0, 0, 0)) == Figure{0, Bound::kExact});
  CHECK(bytes_written(wrote(5, 1, 20'480)) == Figure{5, Bound::kExact});  // A new file, with what describes it.
  CHECK(bytes_written(wrote(0, 0, 16'384)) == Figure{0, Bound::kExact});  // A new folder.
}

TEST_CASE("what they don't explain was written by a mapping, splice or io_uring") {
  CHECK(bytes_written(wrote(0, 0, 32 * kMiB)) == Figure{32 * kMiB, Bound::kAtLeast});
  CHECK(bytes_written(wrote(5, 1, 32 * kMiB)) == Figure{32 * kMiB - 32'768, Bound::kAtLeast});
  CHECK(bytes_written(wrote(20 * kMiB, 20, 32 * kMiB)) == Figure{32 * kMiB - 20 * 32'768, Bound::kAtLeast});
}

TEST_CASE("nothing is known of what wrote in threads that were lost") {
  CHECK_FALSE(bytes_written(Account()).has_value());
  CHECK_FALSE(bytes_read(Account()).has_value());
}

TEST_CASE("reads are exact, but for what was fetched far beyond them") {
  CHECK(bytes_read(read(10 * kMiB, 10 * kMiB)) == Figure{10 * kMiB, Bound::kExact});
  CHECK(bytes_read(read(10 * kMiB, 0)) == Figure{10 * kMiB, Bound::kExact});
  CHECK(bytes_read(read(1000, kMiB)) == Figure{1000, Bound::kExact});
  CHECK(bytes_read(read(1000, 64 * kMiB)) == Figure{64 * kMiB, Bound::kAtLeast});
  Account bounded = read({}, 0);
  bounded.read_at_most_bytes = 77;
  CHECK(bytes_read(bounded) == Figure{77, Bound::kAtMost});
}
