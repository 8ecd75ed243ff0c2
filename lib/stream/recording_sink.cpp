// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include <memory>
#include <optional>
#include <utility>

#include "stream/bounded_output.hpp"
#include "stream/recording_of_owner.hpp"
#include "stream/stream_writer.hpp"

namespace tracer {
namespace internal {
namespace {

class RecordingSink final : public Sink {
 public:
  RecordingSink(std::optional<std::uint32_t> owner_uid, const HostInfo& host, OutputLimit limit, auto&&... file)
      : place_(limit.place),
        file_(std::move(limit), std::forward<decltype(file)>(file)...),
        host_(host),
        stream_(host, kRecordingLevel, place_ ? *place_ : RecordingPlace(), owner_uid) {}
  ~RecordingSink() override {
    flush();
    if (place_) file_.keep_on_disk();
  }

  void write(std::span<const Event> events) noexcept override {
    // The header, so that behind it ready() is one frame at most.
    write_ready();
    for (const Event& event : events) append(event);
  }
  void flush() noexcept override {
    write_whole_frames([this] { stream_.close_frame(); });
  }
  /// Larger frames are smaller in all: a cut file lacks this much at most.
  std::chrono::milliseconds flush_period() const noexcept override { return std::chrono::seconds(3); }
  std::optional<Problem> problem() const override { return file_.problem(); }

 private:
  void append(const Event& event) noexcept {
    end_.reset();
    if (event.kind() == EventKind::kSessionEnd) end_ = event;
    if (!file_.full()) return write_whole_frames([this, &event] { stream_.append(event); });
    if (end_) {
      write_whole_frames([this] { close_full(); });
    } else {
      file_.count_missing(1);
    }
  }

  template <class Step>
  void write_whole_frames(Step step) noexcept {
    if (!file_.good()) return;
    try {
      step();
      if (!file_.fits(stream_.ready().size(), file_.full() || ends_in_ready())) go_on_elsewhere();
    } catch (...) {
      write_ready();
      file_.fail_for_memory();
      return;
    }
    write_ready();
  }
  void write_ready() noexcept {
    if (stream_.ready().empty()) return;
    file_.write(stream_.ready());
    stream_.clear_ready();
    if (place_) *place_ = *stream_.place();
  }
  bool ends_in_ready() const noexcept { return end_ && !stream_.has_open_frame(); }

  /// ready() is a frame that has no room in this file.
  void go_on_elsewhere() {
    if (file_.full()) return stream_.clear_ready();
    if (UniqueFd next = file_.next_file()) {
      Bytes end;
      stream_.begin_anew(host_, end);
      file_.write(end);
      if (place_) file_.keep_on_disk();
      return file_.go_on_in(std::move(next));
    }
    file_.count_missing(stream_.drop() - (end_ ? 1 : 0));
    if (end_) close_full();
  }
  void close_full() {
    stream_.append(file_.loss_before(*end_));
    stream_.append(*end_);
    stream_.close_frame();
  }

  std::shared_ptr<RecordingPlace> place_;
  BoundedOutput file_;
  HostInfo host_;
  std::optional<Event> end_;  ///< The last event, if it was this.
  StreamWriter stream_;
};

}  // namespace

std::unique_ptr<Sink> recording_sink_of(std::optional<std::uint32_t> owner_uid, int file_descriptor, std::string name,
                                        const HostInfo& host, OutputLimit limit) {
  return std::make_unique<RecordingSink>(owner_uid, host, std::move(limit), file_descriptor, std::move(name));
}

}  // namespace internal

std::unique_ptr<Sink> recording_sink(const std::filesystem::path& file, const HostInfo& host) {
  return std::make_unique<internal::RecordingSink>(std::nullopt, host, OutputLimit(), file);
}

std::unique_ptr<Sink> recording_sink(int file_descriptor, std::string name, const HostInfo& host, OutputLimit limit) {
  return internal::recording_sink_of(std::nullopt, file_descriptor, std::move(name), host, std::move(limit));
}

}  // namespace tracer
