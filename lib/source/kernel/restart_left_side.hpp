// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"
#include "source/feed.hpp"
#include "source/kernel/ring/decoder.hpp"
#include "source/kernel/ring/ring.hpp"
#include "source/source.hpp"
#include "wire.h"

namespace tracer::internal {

class KeptKernel;

/// Keeps records, to pass them on later.
class HeldFeed final : public Feed {
 public:
  void record(const Record& record) override { records_.push_back(record); }
  /// A kernel side gives neither.
  void event(Event) override {}
  void snapshot_end(std::uint64_t) override {}

  std::span<const Record> records() const noexcept { return records_; }

 private:
  std::vector<Record> records_;
};

/// What two kernel sides have told of the same host, while both were attached for a time, as one: first what only the
/// one that was left has told, then what the one that `goes_on` has. That one was attached as a whole at `attached_ns`.
void join_sides(std::span<const Record> left, std::span<const Record> goes_on, std::uint64_t attached_ns, Feed& to);

/// The kernel side of an earlier process with other BPF programs, which can't be used: what its rings still hold, and
/// what its table said of those that live.
class LeftSide {
 public:
  /// What `kept` was left with. `released`: up to there its rings were read.
  LeftSide(KeptKernel& kept, const std::vector<std::uint64_t>& released);

  /// As KernelSide::held(), of its table.
  std::optional<KernelSide::Held> held(std::uint32_t pid, std::uint64_t start_ns) const;

  /// Gives what its rings hold, in the order of time, once its programs are detached. Returns how many records could
  /// not be read, as they have another form.
  std::uint64_t read_rest(Decoder& decoder, Feed& feed);

 private:
  /// A view of its process table. None: it has another form.
  struct Unmapper {
    Unmapper() noexcept = default;
    std::size_t bytes = 0;
    void operator()(const tracer_slot* slots) const noexcept;
  };

  const bool same_form_;
  std::vector<UniqueFd> maps_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::unique_ptr<const tracer_slot[], Unmapper> slots_;
  std::uint32_t places_ = 0;
};

}  // namespace tracer::internal
