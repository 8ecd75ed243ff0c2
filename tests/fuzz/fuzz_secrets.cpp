// SPDX-License-Identifier: Apache-2.0
/// Masks argument vectors that nobody meant: each word ends with a NUL. No word is lost, none becomes longer than masks
/// make it, and what stays visible was there before.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rules/secret_rules.hpp"

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kMask = "***";
/// Longer words would take seconds to compare.
constexpr std::size_t kMaxCompared = 2048;

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
/// ("a*" and "***" are "a****"), so each way to read them is followed: `ends[k][to]` tells whether what was read of
/// `masked`, but for its last `k` bytes, can end at `to` in the word.
bool is_masked_from(std::string_view masked, std::string_view word) {
  std::array<std::vector<bool>, kMask.size() + 1> ends;
  for (std::vector<bool>& end : ends) end.assign(word.size() + 1, false);
  ends[0][0] = true;
  for (std::size_t at = 1; at <= masked.size(); ++at) {
    std::rotate(ends.begin(), ends.end() - 1, ends.end());
    const bool mask = masked.substr(0, at).ends_with(kMask);
    bool before = false;
    for (std::size_t to = 0; to <= word.size(); ++to) {
      const bool same = to > 0 && ends[1][to - 1] && masked[at - 1] == word[to - 1];
      ends[0][to] = same || (mask && before);
      before = before || ends[kMask.size()][to];
    }
  }
  return ends[0][word.size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tracer::internal::SecretRules& rules = tracer::internal::SecretRules::builtin();
  const Words argv = words_of({reinterpret_cast<const char*>(data), size});
  Words masked = argv;
  const std::size_t count = rules.mask(masked);
  if (masked.size() != argv.size()) std::abort();
  std::size_t before = 0, after = 0;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    before += argv[i].size();
    after += masked[i].size();
    if (argv[i].size() <= kMaxCompared && !is_masked_from(masked[i], argv[i])) std::abort();
  }
  // Each mask is in the place of a byte at least.
  if (after > before + count * (kMask.size() - 1) || (count == 0 && masked != argv)) std::abort();
  return 0;
}
