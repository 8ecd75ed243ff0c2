// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace tracer::internal {

/// Where the program text is in the words of a shell's command ("bash -eu -o pipefail -c TEXT"): the first that is
/// neither an option nor the value of one. 0: there is none.
inline std::size_t shell_text_in(const std::vector<std::string>& words) {
  bool has_text = false;
  std::size_t i = 1;
  while (i < words.size() && words[i].size() > 1 && (words[i].front() == '-' || words[i].front() == '+')) {
    const std::string& option = words[i++];
    if (option == "--") break;
    const bool is_long = option.starts_with("--");
    has_text = has_text || (!is_long && option.front() == '-' && option.find('c') != std::string::npos);
    const auto takes_value = [](char letter) { return letter == 'o' || letter == 'O'; };
    if (is_long) {
      i += option == "--rcfile" || option == "--init-file" ? 1 : 0;
    } else {
      i += static_cast<std::size_t>(std::count_if(option.begin(), option.end(), takes_value));
    }
  }
  return has_text && i < words.size() ? i : 0;
}

}  // namespace tracer::internal
