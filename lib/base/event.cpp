// SPDX-License-Identifier: Apache-2.0
#include <tracer/event.hpp>

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/event_schema.hpp"
#include "base/heap_bytes.hpp"

namespace tracer {
namespace internal {
namespace {

std::uint32_t narrow(std::size_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

void seal(EventBody& body) noexcept {
  [&]<class... E>(TypeList<E...>) {
    const auto seals = [&]<class Each>(const EventBox<Each>& box) {
      body.time_ns = box.event.time_ns;
      body.heap_bytes = narrow(heap_bytes(box.event));
      return true;
    };
    static_cast<void>(((body.kind == E::kKind && seals(static_cast<const EventBox<E>&>(body))) || ...));
  }(EventTypes());
}

}  // namespace internal

const std::shared_ptr<const Program>& Process::unknown_program() noexcept {
  static const auto unknown = std::make_shared<const Program>();
  return unknown;
}
const std::shared_ptr<const Cgroup>& Process::unknown_cgroup() noexcept {
  static const auto unknown = std::make_shared<const Cgroup>();
  return unknown;
}
const std::shared_ptr<const Context>& Process::no_context() noexcept {
  static const auto none = std::make_shared<const Context>();
  return none;
}

std::string_view to_string(EventKind kind) noexcept {
  std::string_view name;
  [&]<class... E>(internal::TypeList<E...>) {
    static_cast<void>(((kind == E::kKind && (name = internal::Schema<E>::kName, true)) || ...));
  }(internal::EventTypes());
  return name;
}

std::string_view to_string(Provenance provenance) noexcept {
  switch (provenance) {
    case Provenance::kInferred: return "inferred";
    case Provenance::kCgroup: return "cgroup";
    case Provenance::kEngineRule: return "engine rule";
    case Provenance::kLabel: return "label";
    case Provenance::kAnnounced: return "announced";
  }
  return {};
}

std::size_t Event::charge_bytes() const noexcept {
  std::size_t bytes = 0;
  visit([&bytes](const auto& body) { bytes = sizeof(internal::EventBox<std::remove_cvref_t<decltype(body)>>); }, *this);
  return bytes == 0 ? 0 : bytes + body_->heap_bytes;
}

}  // namespace tracer
