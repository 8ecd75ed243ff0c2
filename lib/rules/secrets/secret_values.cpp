// SPDX-License-Identifier: Apache-2.0
#include "rules/secrets/secret_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "rules/secrets/secret_text.hpp"

namespace tracer::internal {

namespace secret_values {

using namespace secret_text;

namespace {

/// Longer values are looked at in part: they are no names.
constexpr std::size_t kMostLooked = 256;
constexpr std::size_t kLongestConstant = 11;

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// 32 or 40 hexadecimal digits; a container's ID has 12 or 64.
bool is_digest_or_key(std::string_view value) {
  return (value.size() == 32 || value.size() == 40) && std::all_of(value.begin(), value.end(), is_hex) &&
         std::any_of(value.begin(), value.end(), is_digit) && !std::all_of(value.begin(), value.end(), is_digit);
}

bool is_half_random(std::string_view value) {
  return value.size() >= 6 && std::all_of(value.begin(), value.end(), is_alnum) &&
         std::any_of(value.begin(), value.end(), is_digit) && !std::all_of(value.begin(), value.end(), is_digit);
}

bool is_uuid(std::string_view value) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (value.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'x' ? !is_hex(value[i]) : value[i] != '-') return false;
  }
  return true;
}

/// Shorter than what is_random() takes, or of one case: letters and digits that follow no pattern.
bool is_short_random(std::string_view value) {
  if (value.size() < 12 || value.size() > 24 || !std::all_of(value.begin(), value.end(), is_alnum)) return false;
  std::size_t changes = 0, digits = 0;
  bool upper = false, lower = false, hex = true;
  for (std::size_t i = 0; i < value.size(); ++i) {
    digits = is_digit(value[i]) ? digits + 1 : 0;
    // Names of samples, assemblies and accessions have numbers.
    if (digits == 4) return false;
    upper = upper || is_upper(value[i]);
    lower = lower || is_lower(value[i]);
    hex = hex && is_hex(value[i]);
    // As for is_random(): a capital and what follows it is one run.
    if (i == 0) continue;
    const char before = value[i - 1];
    const bool same =
        is_digit(before) == is_digit(value[i]) && (is_upper(before) || is_lower(before) == is_lower(value[i]));
    changes += same ? 0U : 1U;
  }
  const bool mixed = upper && lower;
  return !hex && (mixed || value.size() >= 16) && changes * 5 >= value.size() * 2;
}

/// "out/pass", "run7/qc": names of folders and files, and no base64.
bool is_relative_path(std::string_view value) {
  if (value.find('/') == kNone || !is_lower(value[0])) return false;
  char before = 0;
  for (const char c : value) {
    const bool name = is_lower(c) || c == '_' || c == '-' || c == '.' || c == '/';
    if (!name && !(is_digit(c) && before != '/')) return false;
    before = c;
  }
  return true;
}

bool is_number(std::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return is_digit(c) || c == '.' || c == '-' || c == ','; });
}

/// "--name" or "-x": the option before it was a flag.
bool is_option(std::string_view value) {
  if (value.size() < 2 || value[0] != '-') return false;
  if (value[1] != '-') return value.size() == 2 && is_alnum(value[1]);
  return value.size() > 2 && is_lower(value[2]) &&
         std::all_of(value.begin() + 2, std::find(value.begin(), value.end(), '='),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '_' || c == '.'; });
}

/// What programs take for the place of a secret, or for none.
bool is_elsewhere(std::string_view value) {
  if (value == "-" || value == "stdin" || value == "public" || value == "anonymous" || value == "guest") return true;
  return value.starts_with("env:") || value.starts_with("file:") || value.starts_with("fd:") ||
         value.find("://") != kNone || (value.starts_with("--") && is_option(value));
}

double entropy(std::string_view value) {
  std::array<std::uint8_t, 256> counts{};
  for (const char c : value) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  for (const char c : value) {
    bits -= std::log2(static_cast<double>(counts[static_cast<unsigned char>(c)]) / static_cast<double>(value.size()));
  }
  return bits / static_cast<double>(value.size());
}

}  // namespace

bool is_variable(std::string_view value, Place place) {
  if (value.size() < 2) return value == "$";
  const char last = value.back();
  if (value[0] == '<' && last == '>') return true;
  if (value.starts_with("{{") || value.starts_with("%(") || value.starts_with("${") || value.starts_with("$("))
    return true;
  if (value[0] == '`' && (place == Place::kScript || last == '`')) return true;
  if (value[0] == '{' && last == '}') return true;
  if (value[0] == '%' && last == '%') return true;
  if (value[0] != '$') return false;
  return std::all_of(value.begin() + 1, value.end(), [place](char c) {
    return is_upper(c) || is_digit(c) || c == '_' || (place == Place::kScript && is_lower(c));
  });
}

bool is_random(std::string_view value) {
  if (value.size() < 14) return false;
  value = value.substr(0, kMostLooked);
  std::size_t uppers = 0, lowers = 0, digits = 0, others = 0, changes = 0, hex = 0, dots = 0;
  int before = -1;
  for (const char c : value) {
    const int kind = is_upper(c) ? 0 : is_lower(c) ? 1 : is_digit(c) ? 2 : 3;
    (kind == 0 ? uppers : kind == 1 ? lowers : kind == 2 ? digits : others) += 1;
    if (kind == 3 && std::string_view("+/=_-.~%:").find(c) == kNone) return false;
    dots += c == '.' ? 1U : 0U;
    hex += is_hex(c) ? 1U : 0U;
    // "Name" is one run: a capital and what follows it; what separates names is no change either.
    if (kind != 3 && before != 3 && kind != before && !(before == 0 && kind == 1)) ++changes;
    before = kind;
  }
  // The fingerprint of a key.
  if (is_uuid(value) || (value.starts_with("0x") && value.size() <= 42)) return false;
  // A digest or a key: who asks knows the name before it.
  if (hex == value.size()) return value.size() >= 32 && lowers != 0 && uppers == 0 && digits != 0;
  if (others * 5 > value.size() || dots > 2) return false;
  if (digits == 0 || lowers + uppers == 0) return false;
  const bool mixed = uppers != 0 && lowers != 0;
  if (!mixed && value.size() < 20) return false;
  // Words and accessions change their class seldom.
  if (changes * 4 < value.size()) return false;
  return entropy(value) >= (value.size() >= 20 ? 3.5 : 3.2);
}

}  // namespace secret_values

using namespace secret_values;

bool SecretValues::is_constant(std::string_view value) const {
  return value.size() <= kLongestConstant && constants_.contains(lower(value));
}

/// "token.txt": an ending of those that files with secrets, tables or programs have.
bool SecretValues::is_file(std::string_view value) const {
  const auto dot = value.rfind('.');
  if (dot == kNone || dot == 0 || value.size() - dot > 11) return false;
  if (!std::all_of(value.begin(), value.end(), [](char c) { return is_name(c) || c == '/' || c == '~'; })) return false;
  return files_.contains(lower(value.substr(dot + 1)));
}

bool SecretValues::is_path(std::string_view value) const {
  if (!value.starts_with('/') && !value.starts_with("./") && !value.starts_with("../") && !value.starts_with("~/")) {
    return false;
  }
  value = value.substr(0, kMostLooked);
  // Base64 may begin with a '/', too.
  if (value[0] == '/') {
    const std::string_view root = value.substr(1, std::min(value.find('/', 1), value.size()) - 1);
    if (root.size() + 1 < value.size() && folders_.contains(root)) return true;
  }
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find('/', at), value.size());
    const std::string_view part = value.substr(at, end - at);
    if (part.find_first_of("+=!#$%^&*? ") != kNone) return false;
    if (part.find('.') == kNone && is_random(part)) return false;
    at = end + 1;
  }
  return true;
}

bool SecretValues::is_plain(std::string_view value, Place place) const {
  if (is_variable(value, place) || is_constant(value) || is_option(value) || is_path(value) || is_file(value))
    return true;
  // "@FILE" is read by the program.
  if (value[0] == '@')
    return value.size() == 1 || is_path(value.substr(1)) || is_file(value.substr(1)) || value[1] == '-';
  if (value.starts_with("file:") || value.starts_with("fileb:") || value.starts_with("env:") ||
      value.starts_with("https://") || value.starts_with("http://")) {
    return true;
  }
  // An expression that is searched for.
  if (value.find(".*") != kNone || value.find("[^") != kNone || value.find("(?") != kNone) return true;
  for (const std::string_view kind : {"\\s", "\\S", "\\w", "\\d"}) {
    if (value.find(kind) != kNone) return true;
  }
  // A list or an object: what is secret in it has a name of its own.
  return (value[0] == '[' && value.back() == ']') || (value[0] == '{' && value.back() == '}');
}

bool SecretValues::is_secret(std::string_view value, Need need, Place place) const {
  if (value.empty() || need == Need::kNever) return false;
  // "!" and "*" lock an account.
  if (value.size() <= 2 && std::none_of(value.begin(), value.end(), is_alnum)) return false;
  if (need == Need::kAny) return !is_variable(value, place) && !is_elsewhere(value);
  if (const auto cut = value.find(kCut); cut != kNone && cut != 0) {
    // Of half a secret less can be told.
    value = value.substr(0, cut);
    if (need <= Need::kHinted) return is_half_random(value) && !is_path(value);
    if (need == Need::kWord) need = Need::kText;
  }
  if (need == Need::kToken) {
    // Nothing but its looks says that it is one.
    if (is_digest_or_key(value)) return true;
    value = value.substr(0, value.find_last_not_of('=') + 1);
    return value.size() >= 20 && value.find_first_of(".=/:%~-") == kNone &&
           std::any_of(value.begin(), value.end(), is_upper) && std::any_of(value.begin(), value.end(), is_lower) &&
           is_random(value);
  }
  if (need == Need::kHinted && is_short_random(value)) return true;
  if (need <= Need::kHinted) return is_random(value) && !is_path(value) && !is_file(value);
  if (is_plain(value, place)) return false;
  if (need == Need::kWord && value.size() > 1 &&
      (std::all_of(value.begin(), value.end(), [](char c) { return is_lower(c) || c == '_'; }) ||
       is_relative_path(value))) {
    return false;
  }
  return need == Need::kNotPlain || !is_number(value);
}

}  // namespace tracer::internal
