// SPDX-License-Identifier: Apache-2.0
#include "context/layers.hpp"

#include <algorithm>
#include <utility>

#include "base/context_fields.hpp"
#include "base/declared_task.hpp"
#include "base/name_within.hpp"
#include "base/number.hpp"

namespace tracer::internal {
namespace {

/// The value in place, its provenance, and what is said now: the stronger stays, the other is noted.
void weigh(Context& context, std::string_view field, std::string& value, Provenance& provenance, std::string said,
           Provenance by) {
  if (value == said) {
    provenance = std::max(provenance, by);
    return;
  }
  Overruled loser{std::string(field), std::move(said), by};
  if (by >= provenance) {
    std::swap(loser.value, value);
    std::swap(loser.provenance, provenance);
  }
  std::erase_if(context.overruled, [&](const Overruled& one) {
    return one.field == field && (one.value == loser.value || one.value == value);
  });
  const auto place = std::find_if(context.overruled.begin(), context.overruled.end(),
                                  [&](const Overruled& one) { return one.provenance < loser.provenance; });
  context.overruled.insert(place, std::move(loser));
  if (context.overruled.size() > kMostOverruled) context.overruled.pop_back();
}

void forget(Context& context, const ContextField& field) {
  (context.*field.value).reset();
  (context.provenance.*field.provenance).reset();
  std::erase_if(context.overruled, [&](const Overruled& one) { return one.field == field.name; });
}

void forget(Context& context, std::string_view name) {
  for (const ContextField& field : kContextFields)
    if (field.name == name) forget(context, field);
}

void forget_task(Context& context) {
  for (const ContextField& field : kContextFields)
    if (field.of_task) forget(context, field);
  context.attempt.reset();
  context.provenance.attempt.reset();
  std::erase_if(context.overruled, [](const Overruled& one) { return one.field == "attempt"; });
  context.engine_own = false;
  context.task_key.reset();
}

/// At most so many bytes: a longer one ends with "…", behind a whole character.
std::string cut(std::string_view text, std::size_t most) {
  constexpr std::string_view kMore = "…";
  if (text.size() <= most) return std::string(text);
  std::size_t end = most < kMore.size() ? 0 : most - kMore.size();
  const auto is_inside = [&] { return (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80; };
  while (end != 0 && is_inside()) --end;
  return std::string(text.substr(0, end)).append(most < kMore.size() ? "" : kMore);
}

std::string bounded(std::string_view text) { return cut(text, kMostValueBytes); }

/// Keeps them in the order of their names, as far as they fit.
void bound_labels(Context& context) {
  std::size_t room = kMostLabelBytes;
  std::size_t cut_bytes = 0;
  std::size_t kept = 0;
  for (Label& label : context.labels) {
    const std::size_t said_bytes = label.name.size() + label.value.size();
    const bool has_value = !label.value.empty();
    label.name = bounded(label.name);
    if (kept == kMostLabels || label.name.size() >= room) room = 0;
    label.value = cut(label.value, std::min(kMostValueBytes, room - std::min(room, label.name.size())));
    // A label without its value says nothing.
    if (room == 0 || (has_value && label.value.empty())) {
      room = 0;
      cut_bytes += said_bytes;
      continue;
    }
    ++kept;
    const std::size_t bytes = label.name.size() + label.value.size();
    room -= bytes;
    cut_bytes += said_bytes - std::min(said_bytes, bytes);
  }
  context.labels.resize(kept);
  if (cut_bytes != 0)
    context.labels_cut_bytes = context.labels_cut_bytes.value_or(0) + static_cast<std::uint32_t>(cut_bytes);
}

std::optional<std::uint32_t> number_in(std::string_view text) {
  const auto number = parse_number<std::uint32_t>(text);
  return number == 0u ? std::nullopt : number;
}

void say_attempt(Context& context, std::uint32_t attempt, Provenance provenance) {
  if (!context.attempt) {
    context.attempt = attempt;
    context.provenance.attempt = provenance;
    return;
  }
  std::string value = std::to_string(*context.attempt);
  Provenance known = context.provenance.attempt.value_or(provenance);
  weigh(context, "attempt", value, known, std::to_string(attempt), provenance);
  context.attempt = number_in(value);
  context.provenance.attempt = known;
}

}  // namespace

void bound(Context& context) {
  for (const ContextField& field : kContextFields)
    if (context.*field.value) context.*field.value = bounded(*(context.*field.value));
  std::sort(context.labels.begin(), context.labels.end());
  bound_labels(context);
}

void stamp(Context& context, Provenance provenance) {
  for (const ContextField& field : kContextFields)
    if (context.*field.value && !(context.provenance.*field.provenance))
      context.provenance.*field.provenance = provenance;
  if (context.attempt && !context.provenance.attempt) context.provenance.attempt = provenance;
  if (!context.labels.empty() && !context.provenance.labels) context.provenance.labels = provenance;
  std::sort(context.labels.begin(), context.labels.end());
}

void say(Context& context, std::string_view field, std::string_view value, Provenance provenance) {
  if (value.empty()) return;
  if (field == "attempt") {
    if (const auto attempt = number_in(value)) say_attempt(context, *attempt, provenance);
    return;
  }
  for (const ContextField& known : kContextFields) {
    if (known.name != field) continue;
    std::optional<std::string>& place = context.*known.value;
    std::optional<Provenance>& by = context.provenance.*known.provenance;
    if (!place) {
      place = bounded(value);
      by = provenance;
    } else {
      Provenance before = by.value_or(Provenance::kInferred);
      weigh(context, field, *place, before, bounded(value), provenance);
      by = before;
    }
    return;
  }
}

void say_label(Context& context, std::string_view name, std::string_view value, Provenance provenance) {
  if (name.empty() || value.empty()) return;
  const Label label{std::string(name), std::string(value)};
  const auto place = std::lower_bound(context.labels.begin(), context.labels.end(), label,
                                      [](const Label& a, const Label& b) { return a.name < b.name; });
  if (place != context.labels.end() && place->name == label.name) {
    place->value = label.value;
  } else {
    context.labels.insert(place, label);
  }
  bound_labels(context);
  context.provenance.labels = std::min(context.provenance.labels.value_or(provenance), provenance);
}

void forget_made_up(Context& context) {
  std::erase_if(context.overruled, [](const Overruled& one) {
    return one.provenance == Provenance::kInferred && (one.field == "run_id" || one.field == "task_id");
  });
}

void forget_said(Context& context, Provenance provenance) {
  std::erase_if(context.overruled, [&](const Overruled& one) { return one.provenance == provenance; });
  const auto restore = [&context](std::string_view field) {
    const auto next = std::find_if(context.overruled.begin(), context.overruled.end(),
                                   [&](const Overruled& one) { return one.field == field; });
    if (next == context.overruled.end()) return;
    const Overruled said = *next;
    context.overruled.erase(next);
    say(context, said.field, said.value, said.provenance);
  };
  for (const ContextField& field : kContextFields) {
    if (context.provenance.*field.provenance != provenance) continue;
    (context.*field.value).reset();
    (context.provenance.*field.provenance).reset();
    restore(field.name);
  }
  if (context.provenance.attempt == provenance) {
    context.attempt.reset();
    context.provenance.attempt.reset();
    restore("attempt");
  }
  if (context.provenance.labels == provenance) {
    context.labels.clear();
    context.labels_cut_bytes.reset();
    context.provenance.labels.reset();
  }
}

void overlay(Context& context, const Context& said) {
  for (auto each = said.overruled.rbegin(); each != said.overruled.rend(); ++each)
    say(context, each->field, each->value, each->provenance);
  for (const ContextField& field : kContextFields)
    if (said.*field.value)
      say(context, field.name, *(said.*field.value),
          (said.provenance.*field.provenance).value_or(Provenance::kInferred));
  if (said.attempt) say_attempt(context, *said.attempt, said.provenance.attempt.value_or(Provenance::kInferred));
  for (const Label& label : said.labels)
    say_label(context, label.name, label.value, said.provenance.labels.value_or(Provenance::kInferred));
  for (const std::string& rule : said.rules)
    if (std::find(context.rules.begin(), context.rules.end(), rule) == context.rules.end())
      context.rules.push_back(rule);
  if (said.within) context.within = said.within;
  if (said.labels_cut_bytes)
    context.labels_cut_bytes = std::max(context.labels_cut_bytes.value_or(0), *said.labels_cut_bytes);
}

Context inherited_by_run(const Context& context) {
  Context inner = context;
  if (is_task(context)) {
    inner.within = name_within(context);
    // Another pipeline begins; who said what the outer one is called did not mean it.
    forget(inner, "pipeline");
    forget(inner, "run");
  }
  // What only follows from the command is no name of another run.
  if (context.provenance.run == Provenance::kInferred) forget(inner, "run");
  forget_task(inner);
  forget(inner, "engine");
  forget(inner, "run_id");
  inner.run_key.reset();
  return inner;
}

Context inherited_by_task(const Context& context) {
  Context inner = context;
  forget_task(inner);
  forget(inner, "engine");
  return inner;
}

Context inherited_by_place(const Context& context) {
  Context inner = context;
  forget(inner, "engine");
  return inner;
}

ContextChange change_of(std::shared_ptr<const Context> before, std::shared_ptr<const Context> after) {
  ContextChange change;
  if (before->run_key != after->run_key) change.old_run_key = before->run_key;
  if (before->task_key != after->task_key) change.old_task_key = before->task_key;
  change.before = std::move(before);
  change.after = std::move(after);
  return change;
}

Context identity_of(const Context& context) {
  Context identity;
  for (const ContextField& field : kContextFields) identity.*field.value = context.*field.value;
  identity.attempt = context.attempt;
  // It says whether the id is a name.
  if (context.provenance.task_id == Provenance::kInferred) identity.provenance.task_id = Provenance::kInferred;
  // It says whether the task is called by its command.
  if (context.provenance.task == Provenance::kInferred && context.engine && is_launcher(*context.engine))
    identity.provenance.task = Provenance::kInferred;
  identity.within = context.within;
  identity.run_key = context.run_key;
  identity.task_key = context.task_key;
  identity.owner_uid = context.owner_uid;
  return identity;
}

Context run_of(const Context& context) {
  Context run;
  run.pipeline = context.pipeline;
  run.run = context.run;
  run.run_id = context.run_id;
  run.within = context.within;
  run.run_key = context.run_key;
  run.owner_uid = context.owner_uid;
  return run;
}

std::string run_key(const Context& context) {
  if (context.run_key) return to_string(*context.run_key);
  if (context.run_id) return *context.run_id;
  return is_run(context) ? context.pipeline.value_or("") + '\n' + context.run.value_or("") : std::string();
}

bool is_task(const Context& context) noexcept { return context.task_id || context.task || context.step; }

bool is_run(const Context& context) noexcept { return context.run_id || context.run || context.pipeline; }

}  // namespace tracer::internal
