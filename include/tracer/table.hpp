// SPDX-License-Identifier: Apache-2.0
/// Recordings and live events as tables, by the Arrow C data interface. docs/tables.md lists the columns.
///
/// An unknown value is null. Texts are UTF-8: a byte that is not becomes U+FFFD, as in JSON. Each batch has its own
/// dictionaries. Arrays and schemas own what they point to, and outlive the stream and the builder that made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <tracer/arrow.h>
#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/export.hpp>
#include <tracer/recording.hpp>

namespace tracer {

enum class Table : std::uint8_t {
  kProcesses,    ///< Each process that ended, then those that had not when the recording ended.
  kPrograms,     ///< Each program that ended: by an exec, or with its process.
  kSamples,      ///< Samples of processes, tools and cgroups.
  kTasks,        ///< TaskFinish.
  kRuns,         ///< RunFinish.
  kEvents,       ///< All events, without ledgers and the accounts of single programs.
  kLosses,       ///< Loss.
  kHosts,        ///< One row: HostInfo.
  kFiles,        ///< FileUse.
  kConnections,  ///< Connection.
  kContainers,   ///< ContainerStart and ContainerFinish.
  kDevices,      ///< DeviceSample.
  kFindings,     ///< Finding: the last one with its finding_key counts.
  kSyscalls,     ///< SyscallUse.
  kGpus,         ///< GpuSample.
  kHostSamples,  ///< HostSample.
  kGpuUses,      ///< GpuUse: of each process and library the last one counts.
};

/// "processes", "programs" … Empty for an unknown value.
TRACER_EXPORT std::string_view to_string(Table table) noexcept;
/// Absent for any other text.
TRACER_EXPORT std::optional<Table> table_from_name(std::string_view name) noexcept;

/// The columns of `table`, as a struct. The caller releases it. Throws Error(kInvalidArgument, kNoMemory).
TRACER_EXPORT void export_table_schema(Table table, ArrowSchema* out);

struct TableOptions {
  std::size_t rows_per_batch = 65536;  ///< At most; fewer if texts are long. 0 counts as 1.
  bool only_ended = false;             ///< kProcesses: without those that had not ended when the recording ended.
};

/// Streams the rest of a recording as one table, batch by batch, in bounded memory. get_next reads, on the thread that
/// calls it; the stream is not thread-safe, but may be moved. Damage is skipped and counted in stream_damage(); a read
/// that fails ends the stream with its errno, after all rows before it. Throws Error(kInvalidArgument, kNoMemory).
TRACER_EXPORT void export_table(RecordingReader reader, Table table, ArrowArrayStream* out, TableOptions options = {});

/// Why the last call of a stream of export_table() failed. Absent if none failed, and for other streams.
TRACER_EXPORT std::optional<Problem> stream_problem(const ArrowArrayStream& stream);
/// Damage that a stream of export_table() has skipped so far; final at its end. Absent for other streams.
TRACER_EXPORT std::optional<RecordingDamage> stream_damage(const ArrowArrayStream& stream);

/// Gathers events into batches of one table. Not thread-safe.
class TRACER_EXPORT TableBuilder {
 public:
  /// Throws Error(kInvalidArgument, kNoMemory).
  explicit TableBuilder(Table table);
  ~TableBuilder();
  TableBuilder(TableBuilder&&) noexcept;
  TableBuilder& operator=(TableBuilder&&) noexcept;

  /// Skips events that have no row in this table. `time_unix_ns` is by the clock of now. kProcesses has rows for
  /// processes that have not ended once SessionEnd was added. Throws std::bad_alloc, and the rows so far are lost;
  /// throws Error(kNoMemory) if their texts take more than 1 GiB, and the rows are kept.
  void add(const Event& event);
  /// The number of rows that finish() will return.
  std::size_t rows() const noexcept;
  /// Returns all rows so far as one struct array, which the caller releases; the builder is then empty. Throws
  /// std::bad_alloc, and the rows so far are lost.
  void finish(ArrowArray* out);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
