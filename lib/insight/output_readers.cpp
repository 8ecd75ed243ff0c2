// SPDX-License-Identifier: Apache-2.0
#include "insight/output_readers.hpp"

#include "context/same_owner.hpp"

namespace tracer::internal {
namespace {

/// Its pipe is closed a moment before a process is gone.
constexpr std::uint64_t kMostBehindNs = 100'000'000;

}  // namespace

void OutputReaders::saw(const ProcessExit& exit) {
  const Account& account = exit.program.account;
  if (exit.exit_signal || exit.exit_code.value_or(0) != 0) return;
  if (!account.ledger || !account.ledger->pipe_read_peer_pid || account.read_bytes.value_or(0) < least_bytes_) return;
  readers_.put(*account.ledger->pipe_read_peer_pid, owner_of(*exit.process), 0,
               {exit.begin_ns, exit.end_ns, exit.process});
}

std::shared_ptr<const Process> OutputReaders::reader_of(std::uint32_t writer_pid, std::uint64_t end_ns,
                                                        std::uint64_t written_bytes) const {
  const Reader* const reader = readers_.find(writer_pid);
  if (reader == nullptr || written_bytes < least_bytes_) return nullptr;
  // The end of a process that shares a pipe wakes its reader, too.
  const bool fits = reader->begin_ns <= end_ns && reader->end_ns + kMostBehindNs >= end_ns;
  return fits ? reader->process : nullptr;
}

}  // namespace tracer::internal
