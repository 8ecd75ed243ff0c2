// SPDX-License-Identifier: Apache-2.0
/// Masks argument vectors that nobody meant: each word ends with a NUL. No word is lost, none becomes longer than masks
/// make it, and what stays visible was there before.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rules/secrets/secret_rules.hpp"

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kMask = "***";
constexpr std::size_t kMostBytes = 16384;
using Ends = std::bitset<kMostBytes + 1>;

Words words_of(std::string_view input) {
  Words words;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\0'), input.size());
    words.emplace_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return words;
}

/// Whether `masked` is `word` with masks in the place of parts of it. Stars of the word may stand beside a mask
/// ("a*" and "***" are "a****"), so each way to read them is followed: `ends` tells where in the word what was read of
/// `masked` so far can end, for each of its last lengths.
bool is_masked_from(std::string_view masked, std::string_view word) {
  if (masked == word) return true;
  std::map<char, Ends> places;
  for (std::size_t i = 0; i < word.size(); ++i) places[word[i]].set(i + 1);
  std::array<Ends, kMask.size() + 1> ends;
  ends[0].set(0);
  for (std::size_t at = 1; at <= masked.size(); ++at) {
    Ends& here = ends[at % ends.size()];
    here = (ends[(at - 1) % ends.size()] << 1) & places[masked[at - 1]];
    if (!masked.substr(0, at).ends_with(kMask)) continue;
    const Ends& before = ends[(at - kMask.size()) % ends.size()];
    std::size_t first = 0;
    while (first <= word.size() && !before.test(first)) ++first;
    here |= Ends().set() << (first + 1);
  }
  return ends[masked.size() % ends.size()].test(word.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return 0;
  const tracer::internal::SecretRules& rules = tracer::internal::SecretRules::builtin();
  const Words argv = words_of({reinterpret_cast<const char*>(data), size});
  Words masked = argv;
  const std::size_t count = rules.mask(masked);
  if (masked.size() != argv.size()) std::abort();
  std::size_t before = 0, after = 0;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    before += argv[i].size();
    after += masked[i].size();
    if (!is_masked_from(masked[i], argv[i])) std::abort();
  }
  // Each mask is in the place of a byte at least.
  if (after > before + count * (kMask.size() - 1) || (count == 0 && masked != argv)) std::abort();
  return 0;
}
