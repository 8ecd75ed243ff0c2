// SPDX-License-Identifier: Apache-2.0
/// How what several sources say becomes one Context.
#pragma once

#include <cstdint>
#include <string_view>

#include <memory>

#include <tracer/task.hpp>

namespace tracer::internal {

inline constexpr std::size_t kMostLabels = 64;
inline constexpr std::size_t kMostOverruled = 16;
inline constexpr std::size_t kMostValueBytes = 1024;  ///< A longer value is cut.
inline constexpr std::size_t kMostLabelBytes = 4096;  ///< Names and values of all labels; what exceeds it is cut.
/// The cause under which contexts with cut labels are counted.
inline constexpr std::string_view kLabelsCut = "labels_cut";

/// Cuts what a caller has given: each text to kMostValueBytes, the labels to kMostLabels and kMostLabelBytes, at a
/// character, with "…" in place of the rest. Sorts labels by name; notes what was cut of them.
void bound(Context& context);

/// Notes `provenance` for all fields that have none.
void stamp(Context& context, Provenance provenance);

/// Notes that `field` ("run", "attempt", …) has `value`, by `provenance`; what is overruled is kept.
void say(Context& context, std::string_view field, std::string_view value, Provenance provenance);
void say_label(Context& context, std::string_view name, std::string_view value, Provenance provenance);

/// Forgets the ids that were made up of a process and then overruled: nobody has said them.
void forget_made_up(Context& context);

/// Forgets what `provenance` has said; what it had overruled counts again.
void forget_said(Context& context, Provenance provenance);

/// Says all that `said` says.
void overlay(Context& context, const Context& said);

/// What a process in a new run below `context`, in a new task, or in a place that is neither, inherits.
Context inherited_by_run(const Context& context);
Context inherited_by_task(const Context& context);
Context inherited_by_place(const Context& context);

/// From one to the other.
ContextChange change_of(std::shared_ptr<const Context> before, std::shared_ptr<const Context> after);

/// Only what tells one run or task from another: the same for the task's work and the engine's own.
Context identity_of(const Context& context);

/// Only the run.
Context run_of(const Context& context);

/// Tells runs apart; empty: it is in none.
std::string run_key(const Context& context);

/// True: it says which task of a run it is, however loosely.
bool is_task(const Context& context) noexcept;
/// True: it says that there is a run.
bool is_run(const Context& context) noexcept;

}  // namespace tracer::internal
