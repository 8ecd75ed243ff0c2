// SPDX-License-Identifier: Apache-2.0
#include <tracer/recording.hpp>
#include <tracer/source.hpp>

#include <atomic>

namespace tracer {
namespace {

constexpr std::size_t kEventsPerPoll = 1000;

class RecordingSource final : public Source {
 public:
  explicit RecordingSource(const std::filesystem::path& file) : reader_(file) {}

  void start(Receiver&) override {}
  int fd() const noexcept override { return -1; }
  void poll(Receiver& receiver) override {
    for (std::size_t n = 0; n < kEventsPerPoll && !finished_; ++n) {
      std::optional<Event> event = reader_.next();
      if (event) {
        receiver.on_event(std::move(*event));
      } else {
        finished_ = true;
      }
    }
  }
  bool live() const noexcept override { return false; }
  bool finished() const noexcept override { return finished_; }
  void stop() override { finished_ = true; }
  std::map<std::string, std::uint64_t> losses() const override {
    std::map<std::string, std::uint64_t> losses;
    const RecordingDamage& damage = reader_.damage();
    if (damage.skipped_bytes != 0) losses["recording_damaged_bytes"] = damage.skipped_bytes;
    if (damage.skipped_events != 0) losses["recording_unknown_events"] = damage.skipped_events;
    if (damage.truncated) losses["recording_truncated"] = 1;
    return losses;
  }
  HostInfo host() const override { return reader_.host(); }

 private:
  RecordingReader reader_;
  std::atomic<bool> finished_{false};  ///< Asked for from any thread.
};

}  // namespace

std::unique_ptr<Source> recording_source(const std::filesystem::path& file) {
  return std::make_unique<RecordingSource>(file);
}

}  // namespace tracer
