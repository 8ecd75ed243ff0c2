// SPDX-License-Identifier: Apache-2.0
#include "report/sums/moved_bytes.hpp"

#include "correlate/account.hpp"

namespace tracer::internal {
namespace {

/// A call that writes a byte makes a page dirty, one that writes more parts of two; the first one of a file those that
/// hold its inode, its folder and what is free on the disk.
constexpr std::uint64_t kMostPagesOfCall = 8;
/// Likewise of folders and files that are made, moved or deleted without a write.
constexpr std::uint64_t kMostWithoutWrite = 64u << 10;
/// A read fetches what is next in the file, too, and an exec fetches the program.
constexpr std::uint64_t kMostAhead = 1u << 20;

}  // namespace

std::uint64_t read_at_least(const Account& account) noexcept {
  const std::uint64_t by_calls = account.read_bytes.value_or(0);
  const std::uint64_t explained = 2 * account.read_bytes.value_or(account.read_at_most_bytes.value_or(0)) + kMostAhead;
  const std::uint64_t fetched = account.storage_read_bytes.value_or(0);
  return fetched > explained ? fetched : by_calls;
}

std::uint64_t written_at_least(const Account& account) noexcept {
  const std::uint64_t by_calls = account.written_bytes.value_or(0);
  const std::uint64_t rounded = bytes_of_pages(account.write_calls.value_or(0) * kMostPagesOfCall);
  const std::uint64_t dirtied = account.storage_written_bytes.value_or(0);
  return account.write_calls && dirtied > by_calls + rounded + kMostWithoutWrite ? dirtied - rounded : by_calls;
}

}  // namespace tracer::internal
