// SPDX-License-Identifier: Apache-2.0
/// Masks argument vectors that nobody meant: each word ends with a NUL. No word is lost, none becomes longer than masks
/// make it, and what stays visible was there before.
#include <algorithm>
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

Words words_of(std::string_view input) {
  Words words;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\0'), input.size());
    words.emplace_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return words;
}

/// Whether `masked` is `word` with masks in the place of parts of it.
bool is_masked_from(std::string_view masked, std::string_view word) {
  for (bool first = true;; first = false) {
    const std::size_t mask = masked.find(kMask);
    const std::string_view kept = masked.substr(0, mask);
    const std::size_t at = mask == std::string_view::npos && !first ? word.rfind(kept) : word.find(kept);
    if (at == std::string_view::npos || (first && at != 0)) return false;
    word.remove_prefix(at + kept.size());
    if (mask == std::string_view::npos) return word.empty();
    masked.remove_prefix(mask + kMask.size());
  }
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
    // A mask that was there already may be taken for any part.
    if (argv[i].find(kMask) == std::string::npos && !is_masked_from(masked[i], argv[i])) std::abort();
  }
  // Each mask is in the place of a byte at least.
  if (after > before + count * (kMask.size() - 1) || (count == 0 && masked != argv)) std::abort();
  return 0;
}
