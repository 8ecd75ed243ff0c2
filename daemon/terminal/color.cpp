// SPDX-License-Identifier: Apache-2.0
#include "terminal/color.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "show/character_width.hpp"

namespace tracerd {

std::string colored(int fd, const std::string& text) {
  const auto value = [](const char* name) { return std::string_view(std::getenv(name) ? std::getenv(name) : ""); };
  if (::isatty(fd) == 0 || !value("NO_COLOR").empty() || value("TERM").empty() || value("TERM") == "dumb") return text;
  constexpr std::string_view kWord = " failed";
  constexpr std::string_view kDigits = "0123456789";
  std::string out;
  std::size_t table = 0;  // As wide are lines of a table whose last column counts what failed; 0: none.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); out += line + '\n') {
    const std::size_t at = line.find(kWord);
    const bool is_table = table != 0 && tracer::internal::width_of(line) == table;
    if (line.empty() || line.ends_with("  failed")) table = tracer::internal::width_of(line);
    std::size_t begin = 0;
    std::size_t end = 0;
    if (line.starts_with("error: ") || line.starts_with("warning: ")) {
      end = line.find(':');
    } else if (is_table) {
      begin = line.rfind("  ") + 2, end = line.size();
    } else if (at != std::string::npos && at != 0 && kDigits.find(line[at - 1]) != std::string_view::npos) {
      begin = line.find_last_not_of(kDigits, at - 1) + 1, end = at + kWord.size();
    } else if (at != std::string::npos && line.compare(at, 15, " failed (status") == 0) {
      begin = at + 1, end = at + kWord.size();
    }
    if (end == 0) continue;
    line.insert(end, "\033[0m").insert(begin, line.starts_with("warning") ? "\033[33m" : "\033[1;31m");
  }
  return out;
}

}  // namespace tracerd
