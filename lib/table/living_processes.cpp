// SPDX-License-Identifier: Apache-2.0
#include "table/living_processes.hpp"

#include "table/frame_values.hpp"

namespace tracer::internal {
namespace {

/// Of all samples, as they charge: some hundred thousand processes.
constexpr std::size_t kMaxHeldBytes = 512u << 20;

constexpr FieldId path_of(std::uint8_t first, std::uint8_t second) {
  return field_id_below(field_id_below(0, 0, first), 1, second);
}

std::size_t column_at(std::size_t place, FieldId path) {
  const auto specs = kKindSpecs[place];
  std::size_t at = 0;
  while (specs[at].path != path) ++at;
  return at;
}

/// A field that is never absent, of all rows of a kind.
std::span<const std::uint64_t> all_of(const ColumnFrame& frame, std::size_t place, FieldId path, Scratch& scratch) {
  const Section& section = frame.kind(place);
  const Origin origin{.column = column_at(place, path)};
  return FrameValues::values_in(section, origin, Type::kU64, 0, section.rows, scratch).numbers;
}

constexpr std::size_t kSamples = kPlaceOfKind<ProcessSample>;
constexpr std::size_t kExits = kPlaceOfKind<ProcessExit>;
constexpr FieldId kTime = field_id_below(0, 0, 1);
constexpr FieldId kPid = path_of(2, 1);
constexpr FieldId kStart = path_of(2, 2);

}  // namespace

std::size_t LivingProcesses::read(const ColumnFrame& frame) {
  const std::size_t refused = add_samples(frame);
  remove_ended(frame);
  return refused;
}

std::size_t LivingProcesses::add_samples(const ColumnFrame& frame) {
  const std::size_t count = frame.kind(kSamples).rows;
  if (count == 0) return 0;
  Scratch scratch;
  const auto times = all_of(frame, kSamples, kTime, scratch);
  const std::uint64_t last = times[count - 1];
  if (last < time_ns_) return 0;
  if (last > time_ns_) take();
  time_ns_ = last;
  clock_ = frame.clock();
  std::size_t row = count;
  while (row != 0 && times[row - 1] == last) --row;
  rows_.open(frame);
  for (; row < count; ++row) {
    Event event = rows_.event(kSamples, row);
    charged_bytes_ += event.charge_bytes();
    if (charged_bytes_ > kMaxHeldBytes) return count - row;
    const auto& process = *event.get_if<ProcessSample>()->process;
    const auto [found, made] = place_of_.try_emplace(id_of(process), samples_.size());
    if (made) {
      samples_.push_back(std::move(event));
    } else {
      samples_[found->second] = std::move(event);
    }
  }
  rows_ = {};
  return 0;
}

void LivingProcesses::remove_ended(const ColumnFrame& frame) {
  const std::size_t count = frame.kind(kExits).rows;
  if (count == 0 || place_of_.empty()) return;
  Scratch pid_scratch;
  Scratch start_scratch;
  const auto pids = all_of(frame, kExits, kPid, pid_scratch);
  const auto starts = all_of(frame, kExits, kStart, start_scratch);
  for (std::size_t row = 0; row < count; ++row) {
    const auto found = place_of_.find({starts[row], static_cast<std::uint32_t>(pids[row])});
    if (found == place_of_.end()) continue;
    samples_[found->second] = {};
    place_of_.erase(found);
  }
}

std::vector<Event> LivingProcesses::take() {
  std::vector<Event> living;
  for (Event& event : samples_)
    if (event.kind() != EventKind::kNone) living.push_back(std::move(event));
  samples_.clear();
  place_of_.clear();
  charged_bytes_ = 0;
  return living;
}

}  // namespace tracer::internal
