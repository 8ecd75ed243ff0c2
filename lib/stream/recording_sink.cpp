// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include "stream/frame.hpp"
#include "stream/output_file.hpp"
#include "stream/recording_header.hpp"

namespace tracer {
namespace {

constexpr std::size_t kFramePayloadBytes = 256u << 10;

class RecordingSink final : public Sink {
 public:
  RecordingSink(OutputFile file, const HostInfo& host) : file_(std::move(file)) {
    file_.write(std::as_bytes(std::span(kRecordingMagic)));
    pack_header(pending_, {.schema = kRecordingSchema, .host = host, .events = event_schema()});
    write_frame();
  }
  ~RecordingSink() override { write_frame(); }

  void on_event(const Event& event) noexcept override {
    if (!file_.good() || out_of_memory_) return;
    try {
      pack_event(pending_, event);
    } catch (...) {
      out_of_memory_ = true;
    }
    if (pending_.size() >= kFramePayloadBytes) write_frame();
  }
  void flush() noexcept override { write_frame(); }
  std::optional<Problem> problem() const override {
    if (out_of_memory_) return Problem{ErrorCode::kNoMemory, 0, "no memory for the recording's next frame", {}, {}};
    return file_.problem();
  }

 private:
  void write_frame() noexcept {
    if (pending_.size() == 0 || !file_.good() || out_of_memory_) return;
    try {
      const auto frame = frames_.frame(std::as_bytes(std::span(pending_.data(), pending_.size())));
      if (frame.empty()) {
        out_of_memory_ = true;
      } else {
        file_.write(frame);
      }
    } catch (...) {
      out_of_memory_ = true;
    }
    pending_.clear();
  }

  OutputFile file_;
  FrameWriter frames_;
  msgpack::sbuffer pending_;
  bool out_of_memory_ = false;
};

}  // namespace

std::unique_ptr<Sink> recording_sink(const std::filesystem::path& file, const HostInfo& host) {
  return std::make_unique<RecordingSink>(OutputFile(file), host);
}

std::unique_ptr<Sink> recording_sink(int file_descriptor, std::string name, const HostInfo& host) {
  return std::make_unique<RecordingSink>(OutputFile(file_descriptor, std::move(name)), host);
}

}  // namespace tracer
