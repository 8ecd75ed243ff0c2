// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "source/feed.hpp"
#include "source/kernel/ring/decoder.hpp"
#include "source/kernel/ring/ring.hpp"
#include "source/source.hpp"
#include "wire.h"

namespace tracer::internal {

class KeptKernel;

/// Keeps what comes, to pass it on later.
class HeldFeed final : public Feed {
 public:
  void record(const Record& record) override { records_.push_back(record); }
  void event(Event) override {}
  void snapshot_end(std::uint64_t) override {}

  void pass_on(Feed& to) {
    for (const Record& each : records_) to.record(each);
    records_.clear();
  }
  const std::vector<Record>& records() const noexcept { return records_; }

 private:
  std::vector<Record> records_;
};

/// The kernel side of an earlier process with other BPF programs, which can't be used: what its rings still hold, and what
/// its table said of those that live. While both are attached, each reports the same; see take_over().
class LeftSide {
 public:
  /// What `kept` was left with. `released`: up to there its rings were read.
  LeftSide(KeptKernel& kept, const std::vector<std::uint64_t>& released);

  /// As Control::held_by_kernel(), of its table.
  std::optional<Control::Held> held(std::uint32_t pid, std::uint64_t start_ns) const;

  /// Yields what its rings hold, once its programs are detached, but for what the new programs report: processes that
  /// began after `attached_ns`, and what became of those that `taken_in` has taken in. Returns how many records could
  /// not be read, as they have another form.
  std::uint64_t yield_rest(Decoder& decoder, Feed& feed, std::uint64_t attached_ns, const HeldFeed& taken_in);

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
