// SPDX-License-Identifier: Apache-2.0
#include "rules/secrets/secret_finder.hpp"

#include <algorithm>

namespace tracer::internal {

using namespace secret_text;

void SecretFinder::find() {
  colons();
  if (place_ == secret_values::Place::kScript || text_.find_first_of("'\"") != kNone) {
    assignments();
    phrases();
    calls();
  }
  tags();
  substitutions();
  parameters();
  urls();
  logins();
  shapes();
  pem();
  cut();
}

void SecretFinder::add(std::size_t begin, std::size_t end) {
  if (begin < end && text_.substr(begin, end - begin) != secret_text::kMask) ranges_.emplace_back(begin, end);
}

std::size_t SecretFinder::replace(std::string& text) {
  if (ranges_.empty()) return 0;
  std::sort(ranges_.begin(), ranges_.end());
  std::string masked;
  std::size_t count = 0, done = 0;
  for (std::size_t i = 0; i < ranges_.size();) {
    auto [begin, end] = ranges_[i];
    for (++i; i < ranges_.size() && ranges_[i].first <= end; ++i) end = std::max(end, ranges_[i].second);
    masked.append(text, done, begin - done).append(secret_text::kMask);
    done = end;
    ++count;
  }
  masked.append(text, done);
  text = std::move(masked);
  return count;
}

void SecretFinder::colons() {
  covered_ = 0;
  // {"name": "TOKEN", "value": "x"}
  Need named = Need::kNever;
  for (auto colon = text_.find(':'); colon != kNone; colon = text_.find(':', colon + 1)) {
    std::size_t end = colon;
    while (end > 0 && colon - end < 4 && is_space(text_[end - 1])) --end;
    bool quoted = false;
    if (end > 0 && is_quote(text_[end - 1])) {
      quoted = true;
      --end;
      if (end > 0 && text_[end - 1] == '\\') --end;
    }
    std::size_t begin = end;
    while (begin > 0 && end - begin < kMaxName && is_name(text_[begin - 1])) --begin;
    if (begin == end) continue;
    std::string name = lower(text_.substr(begin, end - begin));
    const bool attached = name.starts_with("-h");
    if (attached) name.erase(0, 2);
    Need need = rules_.need_of(text_.substr(begin, end - begin));
    // Headers of services' own names are more often a secret's than other names.
    const bool own =
        name.starts_with("x-") && (need > Need::kHinted || name.ends_with("-key") || name.ends_with("-auth"));
    bool header = rules_.headers_.contains(name) || (own && need != Need::kNever);
    // Of the name only the end is left.
    if (!header && name.size() > 3 && text_.substr(0, begin).ends_with(kCut)) {
      const auto ends = [&](const std::string& known) { return known.ends_with(name); };
      header =
          rules_.need_of_end(name) > Need::kHinted || std::any_of(rules_.headers_.begin(), rules_.headers_.end(), ends);
    }
    if (quoted && name == "value") need = named;
    // {"auths": {"registry": {"auth": "x"}}}
    if (quoted && name == "auth") need = Need::kWord;
    const bool names = quoted && (name == "name" || name == "key");
    if (!header && !(quoted && (need != Need::kNever || names))) continue;
    std::size_t from = colon + 1;
    while (from < text_.size() && (is_space(text_[from]) || text_[from] == '\\')) ++from;
    if (from < covered_ || from >= text_.size()) continue;
    // What is in an object has a name of its own.
    if (quoted && !names && text_[from] == '{') continue;
    const char around = begin > 0 && is_quote(text_[begin - 1]) && !quoted ? text_[begin - 1] : '\0';
    char stop = around;
    if (is_quote(text_[from])) stop = text_[from++];
    std::size_t to = from;
    while (to < text_.size() && text_[to] != '\n' && !(stop != 0 && text_[to] == stop)) {
      // Numbers and the like end with their member.
      if (stop == 0 && quoted && (text_[to] == ',' || text_[to] == '}' || text_[to] == ']')) break;
      ++to;
    }
    covered_ = to;
    if (names) {
      named = rules_.need_of(text_.substr(from, to - from));
      if (need == Need::kNever) continue;
    }
    if (header) {
      std::size_t scheme = from;
      while (scheme < to && scheme - from < 32 && is_name(text_[scheme])) ++scheme;
      if (scheme < to && text_[scheme] == ' ' && rules_.schemes_.contains(lower(text_.substr(from, scheme - from)))) {
        from = scheme + 1;
      }
      need = (need == Need::kRandom || need == Need::kHinted) && !rules_.headers_.contains(name) ? Need::kWord
                                                                                                 : Need::kNotPlain;
    }
    if (to > from && text_[to - 1] == '\\') --to;
    // A number that stands for itself is no text, and counts something.
    if (need == Need::kNotPlain && stop == 0 && quoted) need = Need::kText;
    add_if(from, to, need);
  }
}

void SecretFinder::parameters() {
  std::string_view user = "?";
  for (std::size_t at = text_.find_first_of("?&"); at != kNone; at = text_.find_first_of("?&", at + 1)) {
    std::size_t end = at + 1;
    while (end < text_.size() && end - at <= kMaxName && is_name(text_[end])) ++end;
    if (end >= text_.size() || text_[end] != '=') continue;
    const std::string_view name = text_.substr(at + 1, end - at - 1);
    Need need = rules_.parameters_.contains(lower(name)) ? Need::kNotPlain : rules_.need_of(name);
    if (rules_.parameter_hints_.contains(lower(name))) need = std::max(need, Need::kRandom);
    // "?u=me&p=x"
    if (name == "p" && text_.substr(0, at).ends_with(user)) need = Need::kWord;
    if (name == "u" || name == "user") {
      const std::size_t next = std::min(text_.substr(0, end + kMaxName).find('&', end), text_.size());
      user = text_.substr(at + 1, next - at - 1);
    }
    if (need == Need::kNever) continue;
    std::size_t to = end + 1;
    const auto ends = [](char c) { return c == '&' || c == '#' || is_space(c) || is_quote(c); };
    while (to < text_.size() && !ends(text_[to])) {
      ++to;
    }
    add_if(end + 1, to, need);
    // A '?' inside of a value begins nothing.
    at = to - 1;
  }
}

void SecretFinder::urls() {
  std::size_t chunk_end = 0, last_at = kNone;
  for (auto mark = text_.find("://"); mark != kNone; mark = text_.find("://", mark + 3)) {
    std::size_t scheme = mark;
    while (scheme > 0 && mark - scheme < 32 && (is_alnum(text_[scheme - 1]) || text_[scheme - 1] == '-')) --scheme;
    if (rules_.plain_urls_.contains(lower(text_.substr(scheme, mark - scheme)))) continue;
    const std::size_t begin = mark + 3;
    if (begin >= chunk_end) {
      chunk_end = begin;
      while (chunk_end < text_.size() && !is_space(text_[chunk_end])) ++chunk_end;
      last_at = text_.substr(0, chunk_end).rfind('@');
    }
    const std::size_t end = std::min(text_.substr(0, chunk_end).find_first_of("/?#\"'<>,", begin), chunk_end);
    const std::string_view authority = text_.substr(begin, end - begin);
    // A ':' behind the '@' is that of a port.
    const auto colon = authority.substr(0, authority.rfind('@')).find(':');
    url_path(begin, chunk_end);
    if (const auto at = authority.rfind('@'); at != kNone && colon == kNone) {
      // A token that stands for the user.
      if (secret_values::is_random(authority.substr(0, at))) add(begin, begin + at);
    }
    if (const auto cut = authority.find(kCut);
        cut != kNone && cut >= 14 && authority.substr(0, cut).find_first_of(".:-@") == kNone) {
      // A token that stands for the user, and has been cut.
      add_if(begin, begin + cut + kCut.size(), Need::kRandom);
    }
    if (colon == kNone || authority.starts_with('[')) continue;
    if (const auto at = authority.rfind('@'); at != kNone) {
      if (at > colon) add_if(begin + colon + 1, begin + at, Need::kAny);
      continue;
    }
    const std::string_view port = authority.substr(colon + 1);
    if (port.empty() || std::all_of(port.begin(), port.end(), is_digit) || port[0] == '$' || port[0] == '{') continue;
    // No port: a password with a '/' in it, or one whose '@' has been cut off.
    const std::size_t from = begin + colon + 1;
    if (last_at != kNone && last_at > from) {
      add(from, last_at);
    } else if (chunk_end == text_.size()) {
      add(from, chunk_end);
    }
  }
}

void SecretFinder::logins() {
  for (auto at = text_.find('@'); at != kNone; at = text_.find('@', at + 1)) {
    const auto is_end = [](char c) {
      return is_space(c) || is_quote(c) || c == '/' || c == '=' || c == ',' || c == '@';
    };
    std::size_t begin = at;
    while (begin > 0 && at - begin < kMaxName && !is_end(text_[begin - 1])) --begin;
    const auto colon = text_.substr(begin, at - begin).find(':');
    if (colon == kNone || colon == 0 || at + 1 >= text_.size() || !is_alnum(text_[at + 1])) continue;
    const std::string_view user = text_.substr(begin, colon);
    const bool image = text_.substr(at + 1).starts_with("sha256:");
    // "Module::call(@list)"
    if (text_[begin + colon + 1] == ':' || text_[at - 1] == '(') continue;
    if (!image && std::all_of(user.begin(), user.end(), is_name) && !rules_.login_urls_.contains(lower(user))) {
      add_if(begin + colon + 1, at, Need::kWord);
    }
  }
}

void SecretFinder::url_path(std::size_t begin, std::size_t end) {
  // A chunk may hold several URLs: each looks at its own part.
  const std::string_view url = text_.substr(begin, std::min(text_.find("://", begin), end) - begin);
  for (const std::string& segment : rules_.url_segments_) {
    const auto at = url.find(segment);
    if (at == kNone) continue;
    const std::size_t from = at + segment.size();
    const std::size_t to = std::min(url.find_first_of("/?#&\"'", from), url.size());
    const std::string_view value = url.substr(from, to - from);
    if (std::count_if(value.begin(), value.end(), is_digit) >= 6) add(begin + from, begin + to);
  }
  for (const std::string& rest : rules_.url_rests_) {
    const auto at = url.find(rest);
    if (at == kNone) continue;
    const std::size_t from = at + rest.size();
    add_if(begin + from, begin + std::min(url.find_first_of("?#&\"'", from), url.size()), Need::kAny);
  }
}

void SecretFinder::shapes() {
  std::vector<std::size_t> tried;
  for (std::size_t at = 0; at < text_.size(); ++at) {
    if (!rules_.shape_begins_[static_cast<unsigned char>(text_[at])]) continue;
    const bool inside = at > 0 && (is_alnum(text_[at - 1]) || text_[at - 1] == '_');
    if (inside && !(at >= 3 && text_[at - 3] == '%')) continue;
    tried.resize(rules_.shapes_.size(), 0);
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const SecretRules::Shape& shape = rules_.shapes_[i];
      // What ran to here from an earlier start is longer and was no token, so this is none either.
      if (at < tried[i] || !text_.substr(at).starts_with(shape.prefix)) continue;
      const std::size_t from = at + shape.prefix.size();
      std::size_t to = from;
      while (to < text_.size() && shape.set[static_cast<unsigned char>(text_[to])]) ++to;
      tried[i] = to;
      const bool at_end = to == text_.size() || text_.substr(to).starts_with(kCut);
      const std::size_t min = maybe_cut_ && at_end && shape.prefix.size() >= 4 ? 1 : shape.min;
      if (to - from < min) continue;
      const bool contains = text_.substr(from, to - from).find(shape.contains) != kNone;
      if (contains || at_end) add(at, to);
    }
  }
}

void SecretFinder::pem() {
  constexpr std::string_view kPrivate = "PRIVATE KEY-----";
  const auto cut = text_.find(kCut);
  for (auto at = text_.find(kPrivate); at != kNone; at = text_.find(kPrivate, at + 1)) {
    const auto marker = text_.substr(at > 64 ? at - 64 : 0, std::min<std::size_t>(at, 64));
    const auto begin = marker.rfind("-----BEGIN ");
    const auto end = marker.rfind("-----END ");
    if (begin != kNone && (end == kNone || begin > end)) {
      add(at - marker.size() + begin, text_.size());
      return;
    }
    // The beginning has been cut off.
    if (end != kNone) add(cut < at ? cut : 0, at + kPrivate.size());
  }
}

void SecretFinder::cut() {
  const auto cut = text_.find(kCut);
  if (cut == kNone) return;
  const auto is_part = [](char c) { return is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '_' || c == '-'; };
  const std::size_t after = cut + kCut.size();
  std::size_t begin = cut, end = after;
  while (begin > 0 && is_part(text_[begin - 1])) --begin;
  while (end < text_.size() && is_part(text_[end])) ++end;
  // A folder's digest has no capitals.
  const auto is_token = [&](std::string_view part) {
    return std::any_of(part.begin(), part.end(), is_upper) && std::any_of(part.begin(), part.end(), is_lower) &&
           secret_values::is_random(part) && !rules_.values_.is_path(part);
  };
  const bool file = end < text_.size() && text_[end] == '.' && end - after < 32;
  if (!file && is_token(text_.substr(after, end - after))) add(cut, end);
  if (is_token(text_.substr(begin, cut - begin)) && text_.substr(begin, cut - begin).find('/') == kNone)
    add(begin, after);
}

}  // namespace tracer::internal
