// SPDX-License-Identifier: Apache-2.0
#include <tracer/recording.hpp>

#include <utility>
#include <vector>

#include "stream/recording_series.hpp"

namespace tracer {
namespace {

constexpr std::size_t kMostBatchBytes = 32u << 20;

}  // namespace

class RecordingReader::Impl : public internal::RecordingSeries {
 public:
  explicit Impl(internal::RecordingSeries series) : RecordingSeries(std::move(series)) {}
  explicit Impl(std::unique_ptr<internal::RecordingFile> file) : RecordingSeries(only(std::move(file))) {}

 private:
  static std::vector<internal::RecordingPart> only(std::unique_ptr<internal::RecordingFile> file) {
    std::vector<internal::RecordingPart> parts;
    parts.emplace_back(std::move(file));
    return parts;
  }
};

internal::RecordingSeries* internal::RecordingAccess::series(RecordingReader& reader) noexcept {
  return reader.impl_.get();
}

RecordingReader internal::RecordingAccess::reader(RecordingSeries series) {
  return RecordingReader(std::make_unique<RecordingReader::Impl>(std::move(series)));
}

std::vector<RecordingReader> open_recordings(const std::vector<std::filesystem::path>& files) {
  std::vector<RecordingReader> readers;
  for (internal::RecordingSeries& series : internal::series_of(internal::open_parts(files)))
    readers.push_back(internal::RecordingAccess::reader(std::move(series)));
  return readers;
}

RecordingReader open_recording(const std::vector<std::filesystem::path>& files) {
  return internal::RecordingAccess::reader(internal::only_series_of(internal::open_parts(files)));
}

RecordingReader::RecordingReader(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
RecordingReader::RecordingReader(const std::filesystem::path& file)
    : impl_(std::make_unique<Impl>(std::make_unique<internal::RecordingFile>(file))) {}
RecordingReader::RecordingReader(int file_descriptor, std::string name)
    : impl_(std::make_unique<Impl>(std::make_unique<internal::RecordingFile>(file_descriptor, std::move(name)))) {}
RecordingReader::~RecordingReader() = default;
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
const HostInfo& RecordingReader::host() const noexcept { return impl_->host(); }
std::uint64_t RecordingReader::part() const noexcept { return impl_->part(); }
std::optional<std::uint64_t> RecordingReader::number() const noexcept {
  const std::uint64_t number = impl_->parts().front().number;
  return number == 0 ? std::nullopt : std::optional(number);
}
std::optional<std::uint32_t> RecordingReader::owner_uid() const noexcept { return impl_->parts().front().owner_uid; }
std::optional<std::uint64_t> RecordingReader::closed_unix_ns() const noexcept { return impl_->closed_unix_ns(); }
RecordingDamage RecordingReader::damage() const noexcept { return impl_->damage(); }

void RecordingReader::keep_only(std::span<const EventKind> kinds) { impl_->keep_only(kinds); }

std::optional<Event> RecordingReader::next() {
  Event event = impl_->next(internal::RecordingSeries::Wait::kForBytes);
  if (event.kind() == EventKind::kNone) return std::nullopt;
  return event;
}

std::size_t RecordingReader::read(std::span<Event> events) {
  std::size_t count = 0;
  std::size_t charged_bytes = 0;
  while (count < events.size() && charged_bytes < kMostBatchBytes) {
    Event event = impl_->next(internal::RecordingSeries::Wait::kForBytes);
    if (event.kind() == EventKind::kNone) break;
    charged_bytes += event.charge_bytes();
    events[count++] = std::move(event);
  }
  return count;
}

}  // namespace tracer
