// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace tracer::internal {

/// Of a text that anybody may have written. Discarded: it is none, or its parts are deeper in each other than that.
inline nlohmann::json bounded_json(std::string_view text, int most_depth) {
  bool too_deep = false;
  nlohmann::json json = nlohmann::json::parse(
      text,
      [&too_deep, most_depth](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        too_deep = too_deep || depth > most_depth;
        return !too_deep;
      },
      false);
  return too_deep ? nlohmann::json(nlohmann::json::value_t::discarded) : json;
}

}  // namespace tracer::internal
