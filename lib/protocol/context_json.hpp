// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <utility>

#include <tracer/announcement.hpp>
#include <tracer/context.hpp>

#include "protocol/json_fields.hpp"

namespace tracer::internal {

/// What a client may say of a context; the rest is the session's to make.
inline constexpr auto kGivenTexts = std::tuple(
    std::pair("pipeline", &Context::pipeline), std::pair("run", &Context::run), std::pair("step", &Context::step),
    std::pair("sample", &Context::sample), std::pair("task", &Context::task), std::pair("task_id", &Context::task_id),
    std::pair("engine", &Context::engine), std::pair("run_id", &Context::run_id));

inline Context given_context(const Json& request) {
  Context context;
  const auto found = request.find("context");
  if (found == request.end() || found->is_null()) return context;
  if (!found->is_object()) refuse_value("context", "an object");
  std::apply([&](const auto&... each) { (read_key(*found, each.first, context.*each.second), ...); }, kGivenTexts);
  read_key(*found, "attempt", context.attempt);
  read_key(*found, "labels", context.labels);
  return context;
}

inline JsonOut object_of_given(const Context& context) {
  JsonOut object = JsonOut::object();
  std::apply([&](const auto&... each) { (put_key(object, each.first, context.*each.second), ...); }, kGivenTexts);
  put_key(object, "attempt", context.attempt);
  if (!context.labels.empty()) put_key(object, "labels", context.labels);
  return object;
}

}  // namespace tracer::internal
