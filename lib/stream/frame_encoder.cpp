// SPDX-License-Identifier: Apache-2.0
#include "stream/frame_encoder.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace tracer::internal {
namespace {

// A payload is at most 1 MiB. Closed here, it has room for one more event of any size, and for what describes columns.
constexpr std::size_t kCloseBytes = 640u << 10;
/// Far below what a reader takes, for the same reason.
constexpr std::size_t kCloseTextBytes = 1u << 20;
constexpr std::size_t kCloseRows = kMaxRows / 2;

}  // namespace

ClockUpdate ClockUpdate::now() noexcept {
  const std::uint64_t boot_ns = boot_time_ns();
  return {boot_ns, clock_ns(CLOCK_REALTIME) - boot_ns};
}

FrameEncoder::FrameEncoder() {
  for (const auto& specs : kKindSpecs) kinds_.emplace_back(specs.size());
}

Event FrameEncoder::fitting(const Event& event) {
  return event.charge_bytes() <= kMaxEventBytes ? event : too_large(event);
}

Event FrameEncoder::too_large(const Event& event) {
  Loss loss;
  loss.time_ns = event.time_ns();
  loss.cause = "event_too_large";
  loss.count = 1;
  return loss;
}

std::size_t FrameEncoder::most_bytes() const noexcept {
  std::size_t cells = cells_ + tables_.item_cells + tables_.texts.size();
  std::apply(
      [&cells]<class... T>(const PartTable<T>&... part) { ((cells += part.section.rows * column_count<T>()), ...); },
      tables_.parts);
  return cells * sizeof(std::uint64_t) + tables_.texts.stored_bytes();
}

std::size_t FrameEncoder::things() const noexcept {
  std::size_t things = order_.size() + tables_.item_cells + tables_.texts.size();
  std::apply([&things](const auto&... part) { ((things += part.section.rows), ...); }, tables_.parts);
  return things;
}

std::size_t FrameEncoder::least_stored_bytes(std::size_t charged_bytes) const noexcept {
  return std::max(things() / kThingsPerByte, 2 * charged_bytes / kMostGrowth) + 1;
}

bool FrameEncoder::has_room() const noexcept {
  return most_bytes() < kCloseBytes && tables_.texts.referred_bytes() < kCloseTextBytes && order_.size() < kCloseRows;
}

template <EventType E>
void FrameEncoder::append_row(const E& event) {
  SectionBuilder& section = kinds_[kPlaceOfKind<E>];
  RowBuilder(tables_, section.columns.data(), section.add_row()).put(event);
  cells_ += column_count<E>();
  order_.push_back(static_cast<std::uint8_t>(kPlaceOfKind<E>));
}

void FrameEncoder::append(const Event& event) {
  visit([this](const auto& body) { append_row(body); }, event);
}

void FrameEncoder::close(Bytes& out, const ClockUpdate& clock) {
  std::byte times[16];
  store(times, clock.boot_ns);
  store(times + 8, clock.wall_offset_ns);
  put_bytes(out, times);
  tables_.texts.put(out);

  std::apply(
      [&out]<class... T>(PartTable<T>&... part) {
        put_varint(out, (std::size_t{0} + ... + (part.section.rows != 0 ? 1 : 0)));
        const auto put = [&out](std::size_t place, SectionBuilder& section) {
          if (section.rows == 0) return;
          put_varint(out, place + 1);
          put_section(out, section, kPartSpecs[place]);
        };
        (put(kPlaceOfPart<T>, part.section), ...);
      },
      tables_.parts);

  std::array<std::uint8_t, kKinds> section_of{};
  std::uint8_t sections = 0;
  for (std::size_t place = 0; place < kKinds; ++place)
    if (kinds_[place].rows != 0) section_of[place] = sections++;
  put_varint(out, sections);
  for (std::size_t place = 0; place < kKinds; ++place) {
    if (kinds_[place].rows == 0) continue;
    put_varint(out, static_cast<std::uint64_t>(kKindNumbers[place]));
    put_section(out, kinds_[place], kKindSpecs[place]);
  }
  if (sections > 1)
    for (const std::uint8_t place : order_) out.push_back(static_cast<std::byte>(section_of[place]));
  clear();
}

void FrameEncoder::clear() noexcept {
  tables_.texts.clear();
  tables_.item_cells = 0;
  std::apply([](auto&... part) { (part.clear(), ...); }, tables_.parts);
  for (SectionBuilder& section : kinds_) section.clear();
  order_.clear();
  cells_ = 0;
}

}  // namespace tracer::internal
