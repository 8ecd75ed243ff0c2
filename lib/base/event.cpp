// SPDX-License-Identifier: Apache-2.0
#include <tracer/event.hpp>

#include <algorithm>
#include <limits>

#include "base/event_schema.hpp"

namespace tracer {
namespace internal {
namespace {

std::size_t heap_bytes(const std::string& text) { return text.size(); }
std::size_t heap_bytes(const std::vector<std::string>& texts) {
  std::size_t bytes = texts.size() * sizeof(std::string);
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}
template <class T>
requires(!Described<T>) std::size_t heap_bytes(const T&) { return 0; }

/// Texts, and what is shared, as if it were not.
template <Described T>
std::size_t heap_bytes(const T& value) {
  std::size_t bytes = 0;
  each_field<T>([&](const auto& described) {
    const auto& member = value.*described.member;
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (kIsListOfStructs<Member>) {
      for (const auto& each : member) bytes += sizeof each + heap_bytes(each);
    } else if constexpr (kIsShared<Member>) {
      if (member) bytes += sizeof *member + heap_bytes(*member);
    } else if constexpr (kIsOptional<Member>) {
      if (member) bytes += heap_bytes(*member);
    } else {
      bytes += heap_bytes(member);
    }
  });
  return bytes;
}

std::uint32_t narrow(std::size_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace
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
  switch (kind) {
    case EventKind::kNone: return {};
    case EventKind::kLoss: return "loss";
    case EventKind::kSessionEnd: return "session_end";
    case EventKind::kSnapshotEnd: return "snapshot_end";
    case EventKind::kProcessStart: return "process_start";
    case EventKind::kProcessExec: return "process_exec";
    case EventKind::kProcessExit: return "process_exit";
    case EventKind::kProcessSample: return "process_sample";
    case EventKind::kToolSample: return "tool_sample";
    case EventKind::kCgroupSample: return "cgroup_sample";
    case EventKind::kOwnWork: return "own_work";
    case EventKind::kRunStart: return "run_start";
    case EventKind::kRunFinish: return "run_finish";
    case EventKind::kTaskStart: return "task_start";
    case EventKind::kTaskFinish: return "task_finish";
    case EventKind::kContextChange: return "context_change";
  }
  return {};
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

template <EventType E>
Event::Event(E event) {
  const internal::EventBody head{E::kKind, internal::narrow(internal::heap_bytes(event)), event.time_ns};
  body_ = std::make_shared<internal::EventBox<E>>(head, std::move(event));
}
template TRACER_EXPORT Event::Event(Loss);
template TRACER_EXPORT Event::Event(SessionEnd);
template TRACER_EXPORT Event::Event(SnapshotEnd);
template TRACER_EXPORT Event::Event(ProcessStart);
template TRACER_EXPORT Event::Event(ProcessExec);
template TRACER_EXPORT Event::Event(ProcessExit);
template TRACER_EXPORT Event::Event(ProcessSample);
template TRACER_EXPORT Event::Event(ToolSample);
template TRACER_EXPORT Event::Event(CgroupSample);
template TRACER_EXPORT Event::Event(RunStart);
template TRACER_EXPORT Event::Event(RunFinish);
template TRACER_EXPORT Event::Event(TaskStart);
template TRACER_EXPORT Event::Event(TaskFinish);
template TRACER_EXPORT Event::Event(ContextChange);
template TRACER_EXPORT Event::Event(OwnWork);

std::size_t Event::charge_bytes() const noexcept {
  std::size_t bytes = 0;
  visit([&bytes](const auto& body) { bytes = sizeof(internal::EventBox<std::remove_cvref_t<decltype(body)>>); }, *this);
  return bytes == 0 ? 0 : bytes + body_->heap_bytes;
}

}  // namespace tracer
