// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include "stream/output_file.hpp"

namespace tracer {
namespace {

constexpr std::size_t kWriteBytes = 64u << 10;

class JsonSink final : public Sink {
 public:
  JsonSink(OutputFile file, const HostInfo& host) : file_(std::move(file)), pending_(to_json(host) + '\n') {}
  ~JsonSink() override { write_out(); }

  void on_event(const Event& event) noexcept override {
    if (!file_.good()) return;
    try {
      pending_ += to_json(event);
      pending_ += '\n';
    } catch (...) {
      out_of_memory_ = true;
    }
    if (pending_.size() >= kWriteBytes) write_out();
  }
  void flush() noexcept override { write_out(); }
  std::optional<Problem> problem() const override {
    if (out_of_memory_) return Problem{ErrorCode::kNoMemory, 0, "no memory for some events' JSON", {}, {}};
    return file_.problem();
  }

 private:
  void write_out() noexcept {
    file_.write(std::as_bytes(std::span(pending_)));
    pending_.clear();
  }

  OutputFile file_;
  std::string pending_;
  bool out_of_memory_ = false;
};

}  // namespace

std::unique_ptr<Sink> json_sink(const std::filesystem::path& file, const HostInfo& host) {
  return std::make_unique<JsonSink>(OutputFile(file), host);
}

std::unique_ptr<Sink> json_sink(int file_descriptor, std::string name, const HostInfo& host) {
  return std::make_unique<JsonSink>(OutputFile(file_descriptor, std::move(name)), host);
}

}  // namespace tracer
