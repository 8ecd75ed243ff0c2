// SPDX-License-Identifier: Apache-2.0
/// Runs wire records through the stages and keeps the events.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tracer/session.hpp>
#include <tracer/source.hpp>

#include "context/layers.hpp"
#include "correlate/correlator.hpp"
#include "session/session_setup.hpp"
#include "decoded.hpp"
#include "source/kernel/ring/decoder.hpp"
#include "wire_builder.hpp"
#include "wire_source.hpp"

namespace collect {

template <class E>
std::vector<E> all_of(const std::vector<tracer::Event>& events) {
  std::vector<E> found;
  for (const tracer::Event& event : events)
    if (const E* typed = event.get_if<E>()) found.push_back(*typed);
  return found;
}

inline std::vector<tracer::EventKind> kinds_of(const std::vector<tracer::Event>& events) {
  std::vector<tracer::EventKind> kinds;
  for (const tracer::Event& event : events) kinds.push_back(event.kind());
  return kinds;
}

/// Options of a session that the test polls.
inline tracer::SessionOptions polled() {
  tracer::SessionOptions options;
  options.reader = tracer::ReaderMode::kPoll;
  return options;
}

/// The life of a process in three records.
inline void push_life(wire::WireSource& source, std::uint32_t pid) {
  const wire::Who who{.pid = pid, .start_ns = pid * 10ull};
  source.push(wire::start_record(who));
  source.push(wire::exec_record(who, {.time_ns = who.start_ns + 1, .program_start_ns = who.start_ns}));
  source.push(wire::exit_record(who, {.time_ns = who.start_ns + 2, .program_start_ns = who.start_ns + 1}));
}

/// As a session keeps what it was given as labels.
inline tracer::Context labeled(tracer::Context context) {
  tracer::internal::stamp(context, tracer::Provenance::kLabel);
  return context;
}

/// Without what a session makes of it.
inline tracer::Context said(tracer::Context context) {
  context.run_key.reset();
  context.task_key.reset();
  context.owner_uid.reset();
  return context;
}

inline tracer::internal::Correlator::Rules rules_with(bool mask_secrets) {
  std::vector<tracer::Problem> skipped;
  return tracer::internal::rules_of({.mask_secrets = mask_secrets}, nullptr, {}, skipped);
}

/// Decoder and correlator, without a session.
class Stages {
 public:
  explicit Stages(const tracer::Filter& filter = {}, bool kernel_helps = false, std::size_t max_processes = 1000,
                  bool mask_secrets = true)
      : correlator(rules_with(mask_secrets), tracer::internal::FilterEvaluator(filter, kernel_helps), max_processes) {}

  void push(std::span<const std::byte> bytes) {
    const wire::Exact exact(bytes);
    if (auto record = decoded(decoder, exact.span())) push(*record);
  }
  void push(const tracer::internal::Record& record) { correlator.on_record(record, events); }
  /// The labels behind a context id.
  void set_context(std::uint32_t id, const tracer::Context& context) {
    correlator.set_context(id, std::make_shared<const tracer::Context>(labeled(context)));
  }
  /// Samples of what these records report.
  std::vector<tracer::ProcessSample> sample(std::initializer_list<wire::Bytes> records) {
    correlator.begin_snapshot();
    for (const wire::Bytes& record : records) push(record);
    return correlator.take_samples();
  }
  /// The events of the snapshot that was begun.
  std::vector<tracer::Event> take_snapshot(std::uint64_t time_ns, tracer::internal::Correlator::Folding folding) {
    std::vector<tracer::Event> snapshot;
    correlator.end_snapshot(time_ns, folding, snapshot);
    return snapshot;
  }
  template <class E>
  std::vector<E> all() const {
    return all_of<E>(events);
  }
  template <class E>
  E last() const {
    return all_of<E>(events).back();
  }

  std::vector<tracer::Event> events;
  tracer::internal::Decoder decoder;
  tracer::internal::Correlator correlator;
};

/// A session that the test polls, with all its events.
class Polled {
 public:
  explicit Polled(tracer::SessionOptions options = {}) {
    options.reader = tracer::ReaderMode::kPoll;
    auto owned = std::make_unique<wire::WireSource>();
    source = owned.get();
    session = std::make_unique<tracer::Session>(tracer::Source(std::move(owned)), std::move(options));
    subscription = session->on_any([this](const tracer::Event& event) { events.push_back(event); });
    session->start();
  }
  void push(std::span<const std::byte> record) { source->push(record); }
  std::size_t poll() { return session->poll(std::chrono::milliseconds(0)); }

  std::vector<tracer::Event> events;
  wire::WireSource* source = nullptr;
  std::unique_ptr<tracer::Session> session;
  tracer::Subscription subscription;
};

}  // namespace collect
