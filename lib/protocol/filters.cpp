// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "base/bounded_json.hpp"
#include "base/utf8.hpp"
#include "protocol/filter_json.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {
namespace {

bool is_sent_as_it_is(std::string_view text) { return is_utf8(text) && text.find('\0') == text.npos; }

}  // namespace

bool fits_request(const Filter& filter) {
  const auto& rules = filter.rules();
  return rules.size() <= kMostFilterRules && std::all_of(rules.begin(), rules.end(), [](const Filter::Rule& rule) {
           if (has_number(rule.subject)) return rule.number <= most_of(rule.subject);
           return !rule.text.empty() && rule.text.size() <= longest_text(rule.subject) && is_sent_as_it_is(rule.text);
         });
}

std::string text_of(const Filter& filter) { return list_of(filter).dump(); }

Filter filter_from(std::string_view text) {
  Filter filter;
  // A rule is two objects and a value.
  constexpr std::size_t kMostValues = 1 + 3 * kMostFilterRules;
  read_filter(bounded_json(text, {kMaxJsonDepth, kMostValues}).json, filter);
  return filter;
}

}  // namespace tracer::internal
