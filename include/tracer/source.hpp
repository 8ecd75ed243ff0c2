// SPDX-License-Identifier: Apache-2.0
/// Where a session's records come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/host.hpp>
#include <tracer/signals.hpp>

namespace tracer {

/// Takes what a source yields. Called on the thread that polls the source.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// One record as in bpf/wire.h; hostile input, valid during the call.
  virtual void on_record(std::span<const std::byte> record) = 0;
  /// An event that was decoded and correlated before.
  virtual void on_event(Event event) = 0;
};

/// Sums in a context by its number, raw.
struct RawTotals {
  std::uint32_t context_id = 0;
  std::uint64_t living = 0;
  std::vector<std::byte> bytes;  ///< struct tracer_context_totals of bpf/wire.h
};

/// A stream of records or events. Used by one thread at a time.
class TRACER_EXPORT Source {
 public:
  virtual ~Source() = default;
  /// Begins; living processes that the filter takes in are yielded from here.
  virtual void start(Receiver& receiver) = 0;
  /// Readable when poll() has something to do; -1: always.
  virtual int fd() const noexcept = 0;
  /// Yields what is there, without waiting.
  virtual void poll(Receiver& receiver) = 0;
  /// False for what was recorded: a session then adds no events of its own.
  virtual bool live() const noexcept { return true; }
  /// No more will come.
  virtual bool finished() const noexcept = 0;
  /// Detaches; what happened before is still yielded by poll().
  virtual void stop() = 0;
  /// Yields a record for each thread of each living process that is tracked.
  virtual void sample(Receiver&) {}
  /// Yields what the kernel charges to the cgroups of those that were sampled.
  virtual void sample_cgroups(Receiver&) {}
  /// Takes in a living tree. Throws Error(kFilterNamesNothing).
  virtual void track(pid_t, std::uint32_t /*context_id*/, Receiver&) {}
  virtual std::map<std::string, std::uint64_t> losses() const { return {}; }
  virtual std::vector<RawTotals> totals() const { return {}; }
  virtual std::vector<SignalState> signals() const { return {}; }
  /// Time of its programs in the kernel, by family; empty when it is not known.
  virtual std::map<Family, std::uint64_t> kernel_ns() const { return {}; }
  virtual std::optional<std::uint64_t> kernel_memory_bytes() const { return std::nullopt; }
  /// Gives a family up, for good.
  virtual void shed(Family, const Problem&) {}
  virtual HostInfo host() const = 0;
};

/// Replays a recording. Throws what RecordingReader throws.
TRACER_EXPORT std::unique_ptr<Source> recording_source(const std::filesystem::path& file);

}  // namespace tracer
