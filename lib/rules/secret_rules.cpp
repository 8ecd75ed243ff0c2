// SPDX-License-Identifier: Apache-2.0
#include "rules/secret_rules.hpp"

#include "rules/secret_scan.hpp"
#include "rules/secret_text.hpp"

namespace tracer::internal {

using namespace secret_text;

bool SecretRules::is_secret_name(std::string_view name) const {
  if (name.empty() || name.size() > kMaxName) return false;
  // "dbPassword", "DB_PASSWORD" and "db.password" all become "db_password".
  std::string flat;
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_alnum(c)) continue;
    const bool first = i == 0 || !is_alnum(name[i - 1]);
    const bool hump = i > 0 && is_upper(c) &&
                      (is_lower(name[i - 1]) || is_digit(name[i - 1]) ||
                       (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1])));
    if (first || hump) {
      if (!flat.empty()) flat += '_';
      starts.push_back(flat.size());
    }
    flat += lower(c);
  }
  if (starts.empty()) return false;
  const std::string_view view = flat;
  const auto end_of = [&](std::size_t word) { return word + 1 < starts.size() ? starts[word + 1] - 1 : view.size(); };
  if (except_first_.contains(view.substr(0, end_of(0)))) return false;
  const bool excepted = except_last_.contains(view.substr(starts.back()));
  for (std::size_t from = 0; from < starts.size(); ++from) {
    for (std::size_t to = from; to < starts.size() && to < from + 3; ++to) {
      if (!parts_.contains(view.substr(starts[from], end_of(to) - starts[from]))) continue;
      if (!excepted || to + 1 == starts.size()) return true;
    }
  }
  return false;
}

std::size_t SecretRules::mask(std::vector<std::string>& argv) const {
  std::size_t total = 0, count = 0;
  for (const std::string& word : argv) total += word.size() + 1;
  SecretScan scan(*this, total);
  for (std::string& word : argv) count += scan.word(word);
  return count;
}

}  // namespace tracer::internal
