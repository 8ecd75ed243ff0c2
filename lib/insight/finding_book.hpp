// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/bounded.hpp"
#include "base/user_ids.hpp"
#include "context/same_owner.hpp"
#include "rules/finding_rules.hpp"
#include "state/book.hpp"

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

inline constexpr std::string_view kAnothersProgram = "another user's program";

Evidence figure(std::string_view name, std::uint64_t value, std::string_view unit = {});
Evidence words(std::string_view name, std::string text);
/// As which user a file was used that it names, where that is not the owner of the subject.
void add_other_user(FindingDraft& draft, const std::optional<std::uint32_t>& euid);

/// The findings of a session: says each when it opens, when it has changed, and when it is closed. One that is lost to
/// others is not reported again.
class FindingBook {
 public:
  /// `scopes` outlives this. On a host with this many CPUs.
  FindingBook(const FindingRules& rules, Book& scopes, std::uint32_t cpus,
              std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>())
      : rules_(rules), scopes_(scopes), cpus_(cpus), accounts_(std::move(accounts)) {}

  const FindingRules& rules() const noexcept { return rules_; }
  /// The runs and tasks that findings are about.
  Book& scopes() const noexcept { return scopes_; }
  std::uint32_t cpus() const noexcept { return cpus_; }
  /// That tables of findings are charged to.
  const std::shared_ptr<Accounts>& accounts() const noexcept { return accounts_; }

  /// Before the first event: whose subordinate user ids are whose.
  void use(UserIds user_ids) { user_ids_ = std::move(user_ids); }
  /// Whether a finding about the run, task or process may name what this process runs: both have one owner.
  bool may_name(const FindingDraft& draft, const Context& context, const std::optional<std::uint32_t>& uid) const;
  /// Whether a process in a run or task belongs to its owner.
  bool is_own(const Process& process) const noexcept {
    return same_owner(process.context->owner_uid, *process.context, process.uid, user_ids_);
  }
  /// Its name, or that it is another user's.
  std::string name_of(const Process& process, const FindingDraft& draft) const;

  /// One by its code and subject: a process, task or run, or the host. Opens it, or says what has changed.
  void report(const FindingDraft& draft, std::uint64_t time_ns, std::vector<Event>& events);
  bool is_open(const FindingDraft& draft) const;
  /// It holds no more. Nothing, where it is not open.
  void close(std::string_view code, std::string_view subject, const Context& context, const Process* process,
             std::uint64_t time_ns, std::vector<Event>& events);
  /// Of a run or task that is over, and of all where the session ends.
  void close_task(const Context& context, bool is_run, std::uint64_t time_ns, std::vector<Event>& events);
  void close_all(std::uint64_t time_ns, std::vector<Event>& events);

 private:
  static constexpr std::size_t kMostBytes = 8u << 20;

  struct Entry {
    Finding finding;  ///< As it was said last, or is now.
    std::uint64_t said_ns = 0;
  };

  void say(Entry& entry, std::uint64_t time_ns, std::vector<Event>& events);

  /// Says that those are closed for which it holds, in the order of their keys.
  template <class If>
  void close_if(const If& condition, std::uint64_t time_ns, std::vector<Event>& events);

  const FindingRules& rules_;
  Book& scopes_;
  const std::uint32_t cpus_;
  const std::shared_ptr<Accounts> accounts_;
  UserIds user_ids_;
  Bounded<std::uint64_t, Entry> open_{kMostBytes, "findings_full", accounts_};  ///< By key.
};

/// The same for the same code and subject.
Key finding_key(std::string_view code, std::string_view subject, const Context& context, const Process* process);

/// `text` with each {name} replaced by what `finding` has by that name. A name that it does not have is left out.
std::string filled_in(std::string_view text, const Finding& finding);

}  // namespace tracer::internal
