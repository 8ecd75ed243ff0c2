// SPDX-License-Identifier: Apache-2.0
#include <tracer/sink.hpp>

#include <utility>

#include "stream/output_file.hpp"

namespace tracer {
namespace internal {
namespace {

constexpr std::size_t kWriteBytes = 64u << 10;

class JsonSink final : public Sink {
 public:
  JsonSink(const HostInfo& host, auto&&... file)
      : file_(std::forward<decltype(file)>(file)...), pending_(to_json(host) + '\n') {}
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
      pending_ += to_json(event);
      pending_ += '\n';
    } catch (...) {
      pending_.resize(whole_lines);
      flush();
      file_.fail_for_memory();
    }
  }

  OutputFile file_;
  std::string pending_;
};

}  // namespace
}  // namespace internal

std::unique_ptr<Sink> json_sink(const std::filesystem::path& file, const HostInfo& host) {
  return std::make_unique<internal::JsonSink>(host, file);
}

std::unique_ptr<Sink> json_sink(int file_descriptor, std::string name, const HostInfo& host) {
  return std::make_unique<internal::JsonSink>(host, file_descriptor, std::move(name));
}

}  // namespace tracer
