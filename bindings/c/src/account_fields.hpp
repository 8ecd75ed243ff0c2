// SPDX-License-Identifier: Apache-2.0
/// What the flat event and the totals of a context have in common: names, bits and meaning.
#pragma once

#include <optional>

#include <tracer/process.hpp>

#include "guard.hpp"

namespace tracer::c {

template <class Flat, class T>
void put(Flat& flat, T& member, std::uint64_t bit, const std::optional<T>& value) {
  if (!value) return;
  member = *value;
  flat.present |= bit;
}
template <class Flat, class T>
void put(Flat& flat, T& member, std::uint64_t bit, const T& value) {
  member = value;
  flat.present |= bit;
}

template <class Flat>
void fill_context(Flat& flat, const Context& context) {
  flat.pipeline = string_of(context.pipeline);
  flat.run = string_of(context.run);
  flat.step = string_of(context.step);
  flat.sample = string_of(context.sample);
  flat.task = string_of(context.task);
  flat.task_id = string_of(context.task_id);
  flat.engine = string_of(context.engine);
  put(flat, flat.attempt, TRACER_HAS_ATTEMPT, context.attempt);
}

template <class Flat>
void fill_account(Flat& flat, const Account& account) {
  put(flat, flat.cpu_ns, TRACER_HAS_CPU_NS, account.cpu_ns);
  put(flat, flat.user_ns, TRACER_HAS_USER_NS, account.user_ns);
  put(flat, flat.system_ns, TRACER_HAS_SYSTEM_NS, account.system_ns);
  put(flat, flat.run_queue_ns, TRACER_HAS_RUN_QUEUE_NS, account.run_queue_ns);
  put(flat, flat.minor_faults, TRACER_HAS_MINOR_FAULTS, account.minor_faults);
  put(flat, flat.major_faults, TRACER_HAS_MAJOR_FAULTS, account.major_faults);
  put(flat, flat.voluntary_switches, TRACER_HAS_VOLUNTARY_SWITCHES, account.voluntary_switches);
  put(flat, flat.involuntary_switches, TRACER_HAS_INVOLUNTARY_SWITCHES, account.involuntary_switches);
  put(flat, flat.read_bytes, TRACER_HAS_READ_BYTES, account.read_bytes);
  put(flat, flat.written_bytes, TRACER_HAS_WRITTEN_BYTES, account.written_bytes);
  put(flat, flat.storage_read_bytes, TRACER_HAS_STORAGE_READ_BYTES, account.storage_read_bytes);
  put(flat, flat.storage_written_bytes, TRACER_HAS_STORAGE_WRITTEN_BYTES, account.storage_written_bytes);
}

}  // namespace tracer::c
