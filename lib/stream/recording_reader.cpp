// SPDX-License-Identifier: Apache-2.0
#include <tracer/recording.hpp>

#include <utility>

#include "stream/recording_file.hpp"

namespace tracer {
namespace {

constexpr std::size_t kMostBatchBytes = 32u << 20;

}  // namespace

class RecordingReader::Impl : public internal::RecordingFile {
 public:
  using RecordingFile::RecordingFile;
};

internal::RecordingFile* internal::RecordingAccess::file(RecordingReader& reader) noexcept {
  return reader.impl_.get();
}

RecordingReader::RecordingReader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
RecordingReader::RecordingReader(int file_descriptor, std::string name)
    : impl_(std::make_unique<Impl>(file_descriptor, std::move(name))) {}
RecordingReader::~RecordingReader() = default;
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
const HostInfo& RecordingReader::host() const noexcept { return impl_->host(); }
std::uint64_t RecordingReader::part() const noexcept { return impl_->part(); }
const RecordingDamage& RecordingReader::damage() const noexcept { return impl_->damage(); }

std::optional<Event> RecordingReader::next() {
  Event event = impl_->next(Impl::Wait::kForBytes);
  if (event.kind() == EventKind::kNone) return std::nullopt;
  return event;
}

std::size_t RecordingReader::read(std::span<Event> events) {
  std::size_t count = 0;
  std::size_t charged_bytes = 0;
  while (count < events.size() && charged_bytes < kMostBatchBytes) {
    Event event = impl_->next(Impl::Wait::kForBytes);
    if (event.kind() == EventKind::kNone) break;
    charged_bytes += event.charge_bytes();
    events[count++] = std::move(event);
  }
  return count;
}

}  // namespace tracer
