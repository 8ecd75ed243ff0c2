// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracer/recording.hpp>

#include "base/unique_fd.hpp"
#include "stream/event_frames.hpp"
#include "stream/recording_file.hpp"
#include "stream/started_once.hpp"

namespace tracer::internal {

/// A file of a recording.
struct RecordingPart {
  explicit RecordingPart(std::unique_ptr<RecordingFile> opened);

  std::string name;
  HostInfo host;
  std::uint64_t part = 1;
  std::uint64_t number = 0;           ///< See StreamHeader.
  std::uint64_t previous_frames = 0;  ///< Likewise.
  std::uint64_t stream = 0;
  std::optional<std::uint32_t> owner_uid = {};  ///< Likewise.
  std::uint64_t begin_ns =
      0;  ///< When its first frame was closed, by the boot clock; 0: not looked at, or it has none.
  bool knows_findings = false;
  RecordingDamage damage = {};       ///< Final when the next one is read.
  std::uint64_t missing_before = 0;  ///< So many files are not there, between `missing_from_ns` and `begin_ns`.
  bool cut_before = false;           ///< The end of the one before it is missing, likewise.
  std::uint64_t missing_from_ns = 0;
  bool repeated = false;                ///< Another has the same bytes: not read.
  std::unique_ptr<RecordingFile> file;  ///< Null: read, or to be opened.
  UniqueFd fd;                          ///< Of the file; not open: it is opened by its name again.
};

/// The files of one recording, in their order, as one: what lives where one ends starts once. What a missing file had
/// is a Loss with the cause "recording_missing_part".
class RecordingSeries {
 public:
  using Wait = RecordingFile::Wait;
  using FrameRest = RecordingFile::FrameRest;

  /// Those of one session, in any order.
  explicit RecordingSeries(std::vector<RecordingPart> parts);

  /// What next() gives from now on: to be called before it.
  void keep_only(std::span<const EventKind> kinds);
  /// Called with each context that next() gives, from now on.
  void rename(std::function<void(Context&)> rename);
  // As those of RecordingFile.
  Event next(Wait wait);
  FrameRest next_frame(Wait wait);
  void note_refused(std::size_t events) noexcept { file_->note_refused(events); }
  const HostInfo& host() const noexcept { return parts_.front().host; }
  std::uint64_t part() const noexcept { return parts_.front().part; }
  /// Of all of them.
  bool knows_findings() const noexcept;
  const std::string& name() const noexcept { return parts_[at_].name; }
  void expect_growth() noexcept { file_->expect_growth(); }
  /// Of all that was read.
  RecordingDamage damage() const noexcept;
  /// When the last frame that was read was closed, by the boot clock.
  std::uint64_t closed_ns() const noexcept { return file_->closed_ns(); }
  /// Likewise, in Unix time. Absent: none was read.
  std::optional<std::uint64_t> closed_unix_ns() const noexcept { return file_->closed_unix_ns(); }

  /// Of one file, by its place in parts().
  RecordingDamage damage_of(std::size_t part) const noexcept;

  const std::vector<RecordingPart>& parts() const noexcept { return parts_; }

 private:
  /// Throws Error(kFileUnreadable).
  void open(RecordingPart& part);
  /// Opens the next one; false: there is none.
  bool go_on();
  /// What is missing before the present one.
  std::optional<Event> loss_before() const;
  /// What is wanted, and what is needed to know what has started.
  KindSet read_kinds() const;
  bool is_wanted(const Event& event) const;
  /// The reader gets this event.
  bool takes(const Event& event);
  FrameRest without_repeats(FrameRest rest);
  FrameRest frame_of(const Event& event);
  bool has_next() const noexcept { return at_ + 1 < parts_.size() && !parts_[at_ + 1].repeated; }

  std::vector<RecordingPart> parts_;  ///< In their order; the repeated ones last.
  std::size_t at_ = 0;
  bool began_ = false;
  std::optional<KindSet> wanted_;  ///< Absent: all.
  std::function<void(Context&)> rename_;
  std::unique_ptr<RecordingFile> file_;
  StartedOnce started_;
  EventFrames kept_;
};

/// A file of a recording that is open.
struct OpenRecording {
  UniqueFd fd;
  std::string name;
};

/// The files, and those of folders that are recordings; of a service that records by owner, those of all owners. Throws
/// what RecordingReader throws.
std::vector<RecordingPart> open_parts(const std::vector<std::filesystem::path>& files);
/// Files that are open already, which are taken over; names are for messages.
std::vector<RecordingPart> open_parts(std::vector<OpenRecording> files);
/// The files of one session, and of one owner of it, are one series, at the place of the first.
std::vector<RecordingSeries> series_of(std::vector<RecordingPart> parts);
/// Of one session. Throws kInvalidArgument.
RecordingSeries only_series_of(std::vector<RecordingPart> parts);

/// What is behind a RecordingReader.
struct RecordingAccess {
  /// Null: the reader was moved from.
  static RecordingSeries* series(RecordingReader& reader) noexcept;
  static RecordingReader reader(RecordingSeries series);
};

}  // namespace tracer::internal
