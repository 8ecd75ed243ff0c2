// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include <utility>

#include "stream/output_file.hpp"
#include "stream/stream_writer.hpp"

namespace tracer {
namespace internal {
namespace {

class RecordingSink final : public Sink {
 public:
  RecordingSink(const HostInfo& host, auto&&... file) : file_(std::forward<decltype(file)>(file)...), stream_(host) {}
  ~RecordingSink() override { flush(); }

  void write(std::span<const Event> events) noexcept override {
    for (const Event& event : events) write_whole_frames([this, &event] { stream_.append(event); });
  }
  void flush() noexcept override {
    write_whole_frames([this] { stream_.close_frame(); });
  }
  /// Larger frames are smaller in all: a cut file lacks this much at most.
  std::chrono::milliseconds flush_period() const noexcept override { return std::chrono::seconds(3); }
  std::optional<Problem> problem() const override { return file_.problem(); }

 private:
  template <class Step>
  void write_whole_frames(Step step) noexcept {
    if (!file_.good()) return;
    try {
      step();
    } catch (...) {
      write_ready();
      file_.fail_for_memory();
      return;
    }
    write_ready();
  }
  void write_ready() noexcept {
    file_.write(stream_.ready());
    stream_.clear_ready();
  }

  OutputFile file_;
  StreamWriter stream_;
};

}  // namespace
}  // namespace internal

std::unique_ptr<Sink> recording_sink(const std::filesystem::path& file, const HostInfo& host) {
  return std::make_unique<internal::RecordingSink>(host, file);
}

std::unique_ptr<Sink> recording_sink(int file_descriptor, std::string name, const HostInfo& host) {
  return std::make_unique<internal::RecordingSink>(host, file_descriptor, std::move(name));
}

}  // namespace tracer
