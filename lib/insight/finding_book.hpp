// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/event.hpp>

#include "rules/finding_rules.hpp"

namespace tracer::internal {

/// What is known of a finding, before it is said in words.
struct FindingDraft {
  std::string_view code;
  std::string_view subject = "process";  ///< As Finding::subject.
  std::string_view severity = {};        ///< Empty: that of the code's rule.
  std::string_view confidence = "high";
  std::shared_ptr<const Context> context = Process::no_context();  ///< Of the subject.
  std::shared_ptr<const Process> process = {};                     ///< Null: none stands for it.
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t count = 1;
  bool closed = false;  ///< Nothing more will come of it.
  std::vector<Evidence> evidence = {};
};

Evidence figure(std::string_view name, std::uint64_t value, std::string_view unit = {});
Evidence words(std::string_view name, std::string text);
/// As which user a file was used that it names, where that is not the owner of the subject.
void add_other_user(FindingDraft& draft, const std::optional<std::uint32_t>& euid);

/// The findings of a session: says each when it opens, when it has changed, and when it is closed. Bounded: by kMost;
/// what comes when as many are open is counted.
class FindingBook {
 public:
  explicit FindingBook(const FindingRules& rules) : rules_(rules) {}

  const FindingRules& rules() const noexcept { return rules_; }

  /// One by its code and subject: a process, task or run, or the host. Opens it, or says what has changed.
  void report(const FindingDraft& draft, std::uint64_t time_ns, std::vector<Event>& events);
  bool is_open(const FindingDraft& draft) const;
  /// It holds no more. Nothing, where it is not open.
  void close(std::string_view code, std::string_view subject, const Context& context, const Process* process,
             std::uint64_t time_ns, std::vector<Event>& events);
  /// Of a run or task that is over, and of all where the session ends.
  void close_task(const Context& context, bool is_run, std::uint64_t time_ns, std::vector<Event>& events);
  void close_all(std::uint64_t time_ns, std::vector<Event>& events);
  std::uint64_t unsaid() const noexcept { return unsaid_; }

 private:
  static constexpr std::size_t kMost = 4096;

  struct Entry {
    Finding finding;  ///< As it was said last, or is now.
    std::uint64_t said_ns = 0;
  };

  void say(Entry& entry, std::uint64_t time_ns, std::vector<Event>& events);

  const FindingRules& rules_;
  std::map<std::uint64_t, Entry> open_;  ///< By key.
  std::uint64_t unsaid_ = 0;
};

/// The same for the same code and subject.
Key finding_key(std::string_view code, std::string_view subject, const Context& context, const Process* process);

/// `text` with each {name} replaced by what `finding` has by that name. A name that it does not have is left out.
std::string filled_in(std::string_view text, const Finding& finding);

}  // namespace tracer::internal
