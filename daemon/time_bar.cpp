// SPDX-License-Identifier: Apache-2.0
#include "time_bar.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace tracerd {
namespace {

using tracer::Ledger;
using Member = std::optional<std::uint64_t> Ledger::*;

struct Cause {
  char letter;
  const char* name;
  Member first;
  Member second = nullptr;
};

constexpr std::array<Cause, 13> kCauses = {{{'C', "on the CPU", &Ledger::cpu_ns},
                                            {'Q', "run-queue", &Ledger::run_queue_ns},
                                            {'D', "disk", &Ledger::disk_ns},
                                            {'P', "pipe", &Ledger::pipe_ns},
                                            {'N', "network", &Ledger::socket_ns},
                                            {'L', "lock", &Ledger::lock_ns},
                                            {'W', "waits for a child", &Ledger::child_ns},
                                            {'S', "sleep", &Ledger::sleep_ns},
                                            {'E', "waits for events", &Ledger::poll_ns},
                                            {'M', "memory", &Ledger::reclaim_ns, &Ledger::swap_ns},
                                            {'H', "held back by a CPU limit", &Ledger::throttled_ns},
                                            {'T', "stopped", &Ledger::stopped_ns},
                                            {'.', "other", &Ledger::other_ns}}};
constexpr std::size_t kLetters = 10;

std::uint64_t time_of(const Ledger& ledger, const Cause& cause) {
  const std::uint64_t second = cause.second == nullptr ? 0 : (ledger.*cause.second).value_or(0);
  return (ledger.*cause.first).value_or(0) + second;
}

}  // namespace

std::string time_bar(const Ledger& ledger) {
  struct Part {
    char letter;
    std::uint64_t ns;
  };
  std::array<Part, kCauses.size()> parts;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    parts[i] = {kCauses[i].letter, time_of(ledger, kCauses[i])};
    sum += parts[i].ns;
  }
  if (sum == 0) return {};
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.ns > b.ns; });
  // Each letter stands where the middle of its tenth lies in the parts laid end to end.
  std::string bar;
  std::size_t at = 0;
  auto reached = static_cast<double>(parts[0].ns);
  for (std::size_t i = 0; i < kLetters; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) / kLetters * static_cast<double>(sum);
    while (reached < middle && at + 1 < parts.size()) reached += static_cast<double>(parts[++at].ns);
    bar += parts[at].letter;
  }
  return bar;
}

std::string time_bar_legend(const std::string& letters) {
  std::string legend;
  for (const Cause& cause : kCauses)
    if (letters.find(cause.letter) != std::string::npos)
      legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", cause.letter, cause.name);
  return legend.empty() ? legend : "a letter a tenth of the time of all threads: " + legend;
}

}  // namespace tracerd
