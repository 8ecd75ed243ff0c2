// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "process/given_environment.hpp"
#include "run/refuse_start.hpp"

namespace tracerd {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

enum class Joined { kNo, kYes };
enum class Order { kNameFirst, kSampleFirst };

/// In a form that rules/engines.toml knows.
std::vector<std::string> announcing(const Options& options, Order order, Joined joined) {
  using Value = std::pair<const char*, std::optional<std::string>>;
  std::array<Value, 3> values = {
      Value("--name", options.task), {"--step", options.context.step}, {"--sample", options.context.sample}};
  if (order == Order::kSampleFirst) std::swap(values.front(), values.back());
  std::vector<std::string> words = {"tracerd", "task"};
  for (const auto& [name, value] : values) {
    if (!value) continue;
    if (joined == Joined::kYes) {
      words.push_back(fmt::format("{}={}", name, *value));
    } else {
      words.insert(words.end(), {name, *value});
    }
  }
  words.emplace_back("--");
  words.insert(words.end(), options.words.begin(), options.words.end());
  return words;
}

/// The words that were given are in such a form.
bool is_announced(const Options& options) {
  for (const Order order : {Order::kNameFirst, Order::kSampleFirst})
    for (const Joined joined : {Joined::kNo, Joined::kYes}) {
      const std::vector<std::string> words = announcing(options, order, joined);
      if (std::equal(words.begin() + 1, words.end(), options.given.begin(), options.given.end())) return true;
    }
  return false;
}

std::string own_executable() {
  std::string path(PATH_MAX, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return path;
}

}  // namespace

/// Whoever traces sees the task in the words of this program, which is executed again for that.
int task_command(const Options& options) {
  std::vector<std::string> words = announcing(options, Order::kNameFirst, Joined::kYes);
  auto given = given_environment();
  std::vector<char*> pointers = given ? pointers_to(*given) : std::vector<char*>();
  char** const environment = given ? pointers.data() : environ;
  if (!is_announced(options)) {
    const std::string self = own_executable();
    ::execve(self.c_str(), pointers_to(words).data(), environment);
    // Without /proc it can't be seen, but run.
  }
  words = options.words;
  ::execvpe(words.front().c_str(), pointers_to(words).data(), environment);
  tracer::internal::refuse_start(options.words.front(), errno);
}

}  // namespace tracerd
