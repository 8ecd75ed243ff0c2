// SPDX-License-Identifier: Apache-2.0
#include "correlate/hashed_names.hpp"

#include <algorithm>
#include <cctype>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "state/failure_chains.hpp"

namespace tracer::internal {
namespace {

/// Of 64: two of 100,000 names look equal once in 50,000 sessions.
constexpr unsigned kShownBits = 48;
constexpr std::string_view kHidden = "***";
constexpr std::string_view kMissing = "…";  ///< The beginning of a path that was too long.
constexpr std::size_t kMostOfComm = 15;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// A process may write anything there.
bool is_name_of_program(std::string_view word, const Program& program) {
  std::string_view name = base_name(word);
  // As login shells are called.
  if (name.starts_with('-')) name.remove_prefix(1);
  return (program.exe && name == base_name(*program.exe)) ||
         (program.comm && !name.empty() && name.substr(0, kMostOfComm) == *program.comm);
}

/// "-ec", "+x", "--norc".
bool is_option_of_shell(std::string_view word) {
  if (word.size() < 2 || (word[0] != '-' && word[0] != '+')) return false;
  return std::all_of(word.begin() + 1, word.end(),
                     [](unsigned char letter) { return std::isalpha(letter) != 0 || letter == '-'; });
}

/// The options of a shell stay: what judges failures must see whether it only runs a text.
void hide_arguments(std::vector<std::string>& argv, bool is_shell) {
  bool may_be_option = is_shell;
  bool value_follows = false;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const bool is_value = std::exchange(value_follows, false);
    may_be_option = may_be_option && (is_value || is_option_of_shell(argv[i]));
    if (may_be_option && !is_value) {
      value_follows = argv[i].back() == 'o' || argv[i].back() == 'O';
    } else {
      argv[i] = kHidden;
    }
  }
}

template <class E>
concept SaysNames = std::same_as<E, Finding> || requires(E event) {
  event.process->program;
};

}  // namespace

SipKey HashedNames::random_key() { return {random_number(), random_number()}; }

std::string HashedNames::hash_of(std::string_view text) const {
  return fmt::format("{:0{}x}", sip_hash(key_, text) >> (64 - kShownBits), kShownBits / 4);
}

std::string HashedNames::of_name(std::string_view name) const {
  if (name.empty() || name == "." || name == ".." || name == kMissing) return std::string(name);
  std::size_t end = name.size();
  for (;;) {
    const std::size_t dot = name.substr(0, end).rfind('.');
    if (dot == std::string_view::npos || dot == 0) break;
    std::string ending(name.substr(dot + 1, end - dot - 1));
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    if (!rules_.says_kind(ending)) break;
    end = dot;
  }
  return hash_of(name.substr(0, end)).append(name.substr(end));
}

std::string HashedNames::of_path(std::string_view path) const {
  std::string hashed;
  for (;;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    hashed += of_name(path.substr(0, end));
    if (end == path.size()) return hashed;
    hashed += '/';
    path.remove_prefix(end + 1);
  }
}

/// The name of a program stays: events have it as `comm` and `tool`, too.
std::string HashedNames::of_program_path(std::string_view path) const {
  const std::size_t folders = path.rfind('/') + 1;
  return of_path(path.substr(0, folders)).append(path.substr(folders));
}

std::shared_ptr<const Program> HashedNames::made_of(const std::shared_ptr<const Program>& program) {
  if (!program->exe && !program->argv && !program->cwd) return program;
  auto made = std::make_shared<Program>(*program);
  if (made->exe) made->exe = of_program_path(*made->exe);
  if (made->cwd) made->cwd = of_path(*made->cwd);
  if (!made->argv || made->argv->empty()) return made;
  std::string& name = made->argv->front();
  name = is_name_of_program(name, *program) ? of_program_path(name) : kHidden;
  hide_arguments(*made->argv, is_shell(*program));
  return made;
}

std::shared_ptr<const Process> HashedNames::made_of(const std::shared_ptr<const Process>& process) {
  auto program = of(programs_, process->program);
  if (program == process->program) return process;
  auto made = std::make_shared<Process>(*process);
  made->program = std::move(program);
  return made;
}

template <class Part>
std::shared_ptr<const Part> HashedNames::of(Known<Part>& known, const std::shared_ptr<const Part>& part) {
  if (const auto found = known.find(part.get()); found != known.end()) return found->second.second;
  auto made = made_of(part);
  if (known.size() >= kMostKnown) known.clear();
  known.emplace(part.get(), std::pair(part, made));
  return made;
}

/// What it says in words has them from its evidence. Paths of cgroups are none of files.
void HashedNames::hide_evidence(Finding& finding) const {
  for (Evidence& each : finding.evidence) {
    if (!each.text || !each.text->starts_with('/') || each.name == "limit_cgroup") continue;
    const std::string hashed = of_path(*each.text);
    if (hashed != *each.text) {
      replace_all(finding.text, *each.text, hashed);
      replace_all(finding.advice, *each.text, hashed);
    }
    each.text = hashed;
  }
}

template <class E>
void HashedNames::hide(E& event) {
  if (event.process) event.process = of(processes_, event.process);
  if constexpr (requires { event.ended.program; }) event.ended.program = of(programs_, event.ended.program);
  if constexpr (requires { event.program.program; }) event.program.program = of(programs_, event.program.program);
  if constexpr (std::same_as<E, FileUse>) {
    if (event.path) event.path = of_path(*event.path);
    if (event.renamed_to) event.renamed_to = of_path(*event.renamed_to);
  } else if constexpr (std::same_as<E, Connection>) {
    if (event.remote_address) event.remote_address = of_address(*event.remote_address);
    if (event.local_address) event.local_address = of_address(*event.local_address);
  } else if constexpr (std::same_as<E, ProcessSample>) {
    if (event.progress) event.progress->file = of_name(event.progress->file);
  }
}

void HashedNames::hide_in(ProcessSample& sample) { hide(sample); }

Event HashedNames::in(const Event& event) {
  Event shown = event;
  visit(
      [&](const auto& body) {
        if constexpr (SaysNames<std::remove_cvref_t<decltype(body)>>) {
          auto copy = body;
          if constexpr (std::same_as<decltype(copy), Finding>) {
            hide_evidence(copy);
          } else {
            hide(copy);
          }
          shown = Event(std::move(copy));
        }
      },
      event);
  return shown;
}

}  // namespace tracer::internal
