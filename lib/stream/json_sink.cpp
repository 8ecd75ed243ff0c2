// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include <utility>

#include "stream/bounded_output.hpp"
#include "stream/frame_encoder.hpp"

namespace tracer {
namespace internal {
namespace {

constexpr std::size_t kWriteBytes = 64u << 10;

class JsonSink final : public Sink {
 public:
  JsonSink(const HostInfo& host, OutputLimit limit, auto&&... file)
      : file_(std::move(limit), std::forward<decltype(file)>(file)...), host_(to_json(host) + '\n'), pending_(host_) {}
  ~JsonSink() override { flush(); }

  void write(std::span<const Event> events) noexcept override {
    for (const Event& event : events) {
      if (!file_.good()) return;
      append(event);
      if (pending_.size() >= kWriteBytes) flush();
    }
  }
  void flush() noexcept override {
    file_.write(std::as_bytes(std::span(pending_)));
    pending_.clear();
  }
  std::optional<Problem> problem() const override { return file_.problem(); }

 private:
  void append(const Event& event) noexcept {
    const std::size_t whole_lines = pending_.size();
    try {
      if (file_.full()) return append_to_full(event);
      pending_ += to_json(event);
      pending_ += '\n';
      if (!file_.fits(pending_.size(), is_end(event))) go_on_elsewhere(event, whole_lines);
    } catch (...) {
      pending_.resize(whole_lines);
      flush();
      file_.fail_for_memory();
    }
  }

  static bool is_end(const Event& event) noexcept { return event.kind() == EventKind::kSessionEnd; }

  /// What is behind `whole_lines` has no room in this file.
  void go_on_elsewhere(const Event& event, std::size_t whole_lines) {
    std::string line = pending_.substr(whole_lines);
    pending_.resize(whole_lines);
    if (!file_.fits_alone(host_.size() + line.size())) line = to_json(FrameEncoder::too_large(event)) + '\n';
    flush();
    UniqueFd next = file_.next_file();
    if (!next) return append_to_full(event);
    file_.go_on_in(std::move(next));
    pending_ = host_ + line;
  }
  void append_to_full(const Event& event) {
    if (!is_end(event)) return file_.count_missing(1);
    pending_ = to_json(file_.loss_before(event)) + '\n' + to_json(event) + '\n';
    if (!file_.fits(pending_.size(), true)) pending_.clear();
  }

  BoundedOutput file_;
  std::string host_;  ///< The line that each file begins with.
  std::string pending_;
};

}  // namespace
}  // namespace internal

std::unique_ptr<Sink> json_sink(const std::filesystem::path& file, const HostInfo& host) {
  return std::make_unique<internal::JsonSink>(host, OutputLimit(), file);
}

std::unique_ptr<Sink> json_sink(int file_descriptor, std::string name, const HostInfo& host, OutputLimit limit) {
  return std::make_unique<internal::JsonSink>(host, std::move(limit), file_descriptor, std::move(name));
}

}  // namespace tracer
