// SPDX-License-Identifier: Apache-2.0
#include "rules/secrets/secret_rules.hpp"

#include <algorithm>
#include <array>

#include "rules/secrets/secret_scan.hpp"
#include "rules/secrets/secret_text.hpp"

namespace tracer::internal {

using namespace secret_text;

Need SecretRules::need_of(std::string_view name) const {
  if (name.empty() || name.size() > kMaxName) return Need::kNever;
  // "dbPassword", "DB_PASSWORD" and "db.password" all become "db_password".
  std::array<char, 2 * kMaxName> flat;
  std::array<std::size_t, kMaxName + 1> starts;
  std::size_t size = 0, words = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_alnum(c)) continue;
    const bool first = i == 0 || !is_alnum(name[i - 1]);
    const bool hump = i > 0 && is_upper(c) &&
                      (is_lower(name[i - 1]) || is_digit(name[i - 1]) ||
                       (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1])));
    if (first || hump) {
      if (size != 0) flat[size++] = '_';
      starts[words++] = size;
    }
    flat[size++] = lower(c);
  }
  if (words == 0) return Need::kNever;
  const std::string_view view(flat.data(), size);
  const auto end_of = [&](std::size_t word) { return word + 1 < words ? starts[word + 1] - 1 : size; };
  if (except_first_.contains(view.substr(0, end_of(0)))) return Need::kNever;
  if (std::any_of(except_ends_.begin(), except_ends_.end(),
                  [&](const std::string& end) { return view.ends_with(end); })) {
    return Need::kRandom;
  }
  const bool excepted = except_last_.contains(view.substr(starts[words - 1]));
  Need need = Need::kNever;
  for (std::size_t from = 0; from < words; ++from) {
    const std::string_view before =
        from == 0 ? std::string_view() : view.substr(starts[from - 1], end_of(from - 1) - starts[from - 1]);
    for (std::size_t to = from; to < words && to < from + 3; ++to) {
      if (excepted && to + 1 != words) continue;
      const std::string_view part = view.substr(starts[from], end_of(to) - starts[from]);
      auto hit = parts_.find(part);
      // "password2"
      if (hit == parts_.end() && is_digit(part.back())) {
        hit = parts_.find(part.substr(0, part.find_last_not_of("0123456789") + 1));
        if (hit != parts_.end() && hit->second != Need::kNotPlain) hit = parts_.end();
      }
      if (hit == parts_.end() || (from > 0 && except_first_.contains(before))) continue;
      // "pass-through" and "token_embedding" go on with what it is of; "token_1" does not.
      const bool last = to + 1 == words || (to + 2 == words && is_digit(view[starts[words - 1]]));
      Need its = hit->second != Need::kText || last ? hit->second : Need::kRandom;
      // "OPENAI_KEY", but no "key", "key_column" or "object_key"
      if (hit->second == Need::kRandom && from > 0 && last && !except_hints_.contains(before)) its = Need::kHinted;
      need = std::max(need, its);
    }
    if (excepted && from + 1 != words) continue;
    const std::string_view word = view.substr(starts[from], end_of(from) - starts[from]);
    for (const std::string& ending : endings_) {
      if (word.size() > ending.size() + 1 && word.ends_with(ending)) need = std::max(need, Need::kText);
    }
  }
  return need == Need::kText && words == 1 ? Need::kWord : need;
}

Need SecretRules::need_of_end(std::string_view name) const {
  Need need = Need::kNever;
  if (name.empty() || name.size() > 16) return need;
  const std::string end = lower(name);
  for (const auto& [part, its] : parts_) {
    if (part.ends_with(end)) need = std::max(need, its);
  }
  return need;
}

std::size_t SecretRules::mask(std::vector<std::string>& argv) const {
  std::size_t total = 0, count = 0;
  for (const std::string& word : argv) total += word.size() + 1;
  SecretScan scan(*this, total);
  for (std::string& word : argv) count += scan.word(word);
  return count;
}

}  // namespace tracer::internal
