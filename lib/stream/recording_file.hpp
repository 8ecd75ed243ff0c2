// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/recording.hpp>

#include "base/unique_fd.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_reader.hpp"

namespace tracer::internal {

/// The events of a recording in a file or a pipe.
class RecordingFile {
 public:
  /// Both wait for the header of a pipe, and throw what RecordingReader throws.
  explicit RecordingFile(const std::filesystem::path& file);
  RecordingFile(int file_descriptor, std::string name);

  enum class Wait { kForBytes, kNever };
  /// The next event; empty at the end, or when it would have to wait: at_end() says which.
  Event next(Wait wait);
  /// What next() gives of later frames.
  void keep_only(const KindSet& kinds) noexcept { reader_.keep_only(kinds); }
  /// Called with each context that next() gives; empty: none is.
  void rename(std::function<void(Context&)> rename) { rename_ = std::move(rename); }
  bool at_end() const noexcept { return at_end_; }
  /// The rows that next() has not given yet.
  struct FrameRest {
    const ColumnFrame* frame = nullptr;  ///< Valid until the next call of anything.
    std::size_t first_row = 0;
  };
  /// For readers of columns. No frame: as next().
  FrameRest next_frame(Wait wait);
  /// Events that a reader of columns has refused for their size.
  void note_refused(std::size_t events) noexcept;

  const HostInfo& host() const noexcept { return reader_.header().host; }
  const StreamHeader& header() const noexcept { return reader_.header(); }
  std::uint64_t stream() const noexcept { return reader_.stream(); }
  /// Where the last frame was closed, by the boot clock.
  std::uint64_t closed_ns() const noexcept { return reader_.frame().clock().boot_ns; }
  /// Likewise, in Unix time. Absent: no frame was read.
  std::optional<std::uint64_t> closed_unix_ns() const noexcept {
    const ClockUpdate& clock = reader_.frame().clock();
    return clock.boot_ns == 0 ? std::nullopt : std::optional(clock.boot_ns + clock.wall_offset_ns);
  }
  /// How many frames there were so far, by their numbers.
  std::uint64_t frames() const noexcept { return reader_.frames(); }
  bool is_file() const noexcept { return !is_pipe_; }
  /// Its descriptor; this object reads no more. Empty: it is no file.
  UniqueFd take_file() noexcept;
  /// False: it was made before there were findings.
  bool knows_findings() const noexcept { return reader_.header().knows_findings; }
  const RecordingDamage& damage() const noexcept { return damage_; }
  /// Readable when there are bytes; -1 for a file that always has.
  int pipe_fd() const noexcept;
  /// Of a file that is still written: where it ends now, next() gives none, and what comes later when it is called
  /// again.
  void expect_growth() noexcept { grows_ = true; }
  const std::string& name() const noexcept { return name_; }

 private:
  [[noreturn]] void fail(ErrorCode code, int error_number, fmt::format_string<const std::string&> what,
                         std::string fix) const;
  /// False: at the end, or it would have to wait.
  bool open_frame(Wait wait);
  StreamReader::Step next_step(Wait wait);
  void read_header();
  bool may_read(Wait wait) const;
  /// False: no more bytes are there by now.
  bool read_more();

  UniqueFd fd_;
  std::string name_;
  bool grows_ = false;
  bool is_pipe_ = false;  ///< Or whatever else can keep a reader waiting.
  off_t read_at_ = 0;     ///< Of a file: whose descriptor others may read by, too.
  std::vector<std::byte> buffer_;
  int read_error_ = 0;
  StreamReader reader_;
  EventRows rows_;
  std::function<void(Context&)> rename_;
  std::uint64_t refused_events_ = 0;
  RecordingDamage damage_;
  bool has_session_end_ = false;
  bool at_end_ = false;
};

}  // namespace tracer::internal
