// SPDX-License-Identifier: Apache-2.0
#include <tracer/source.hpp>

#include <atomic>
#include <optional>
#include <utility>

#include "base/counter.hpp"
#include "source/source.hpp"
#include "base/wakeup.hpp"
#include "stream/recording_file.hpp"

namespace tracer {
namespace internal {
namespace {

class RecordingSource final : public Source {
 public:
  explicit RecordingSource(const std::filesystem::path& file) : file_(file) { ready_.set(); }

  HostInfo host() const override { return file_.host(); }
  int fd() const noexcept override { return file_.pipe_fd() != -1 ? file_.pipe_fd() : ready_.fd(); }
  void start(Feed&) override {}

  bool drain(Feed& feed, const DrainLimit& limit) override {
    drains_.add(1);
    const bool more = read(feed, limit);
    if (!more) last_whole_drain_.set(drains_.value());
    return more;
  }

  /// Nobody knows how much a pipe still has: what is there now was read when a later drain finds no more.
  std::uint64_t end_position() const noexcept override { return drains_.value() + 1; }
  std::uint64_t position() const noexcept override { return last_whole_drain_.value(); }
  void stop() override {
    finished_ = true;
    ready_.clear();
  }
  bool finished() const noexcept override { return finished_; }
  bool ends_itself() const noexcept override { return true; }
  bool wants_findings() const noexcept override { return !file_.knows_findings(); }

  Counters counters() const override {
    Counters counters;
    const auto note = [&counters](const char* cause, const Counter& count) {
      if (count.value() != 0) counters.losses[cause] = count.value();
    };
    note("recording_damaged_bytes", skipped_bytes_);
    note("recording_unknown_events", skipped_events_);
    note("recording_missing_frames", missing_frames_);
    note("recording_read_errors", read_errors_);
    note("recording_truncated", truncated_);
    return counters;
  }

 private:
  bool read(Feed& feed, const DrainLimit& limit) {
    constexpr std::size_t kEventsPerLookAtTheClock = 64;
    const auto until = std::chrono::steady_clock::now() + limit.time;
    for (std::size_t count = 1; !finished_; ++count) {
      Event event = file_.next(RecordingFile::Wait::kNever);
      note_damage();
      if (event.kind() == EventKind::kNone) {
        if (!file_.at_end()) return false;
        break;
      }
      feed.event(std::move(event));
      if (count >= limit.records) return true;
      if (count % kEventsPerLookAtTheClock == 0 && std::chrono::steady_clock::now() >= until) return true;
    }
    stop();
    return false;
  }
  void note_damage() noexcept {
    const RecordingDamage& damage = file_.damage();
    skipped_bytes_.set(damage.skipped_bytes);
    skipped_events_.set(damage.skipped_events);
    missing_frames_.set(damage.missing_frames);
    read_errors_.set(damage.read_error != 0 ? 1 : 0);
    truncated_.set(damage.truncated ? 1 : 0);
  }

  RecordingFile file_;
  Wakeup ready_;    ///< Until it is finished.
  Counter drains_;  ///< That began.
  Counter last_whole_drain_;
  Counter skipped_bytes_;
  Counter skipped_events_;
  Counter missing_frames_;
  Counter read_errors_;
  Counter truncated_;
  std::atomic<bool> finished_{false};
};

}  // namespace
}  // namespace internal

Source recording_source(const std::filesystem::path& file) {
  return Source(std::make_unique<internal::RecordingSource>(file));
}

}  // namespace tracer
