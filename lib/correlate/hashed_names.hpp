// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <tracer/event.hpp>

#include "base/sip_hash.hpp"
#include "rules/file_rules.hpp"

namespace tracer::internal {

/// What events show in place of paths, addresses and arguments, which say something about people: equal ones look
/// equal, and only who has the key can find out which they are. One thread at a time.
class HashedNames {
 public:
  static SipKey random_key();

  explicit HashedNames(const SipKey& key = random_key(), const FileRules& rules = FileRules::builtin())
      : key_(key), rules_(rules) {}

  /// Each part of it hashed; slashes, and endings that say what is in a file, stay.
  std::string of_path(std::string_view path) const;
  std::string of_address(std::string_view address) const { return hash_of(address); }
  Event in(const Event& event);
  void hide_in(ProcessSample& sample);

 private:
  /// Parts of events that were made lately, by those that they stand for, which are held so that no other has their
  /// place.
  template <class Part>
  using Known = std::unordered_map<const Part*, std::pair<std::shared_ptr<const Part>, std::shared_ptr<const Part>>>;
  static constexpr std::size_t kMostKnown = 1024;

  std::string hash_of(std::string_view text) const;
  std::string of_name(std::string_view name) const;
  std::string of_program_path(std::string_view path) const;
  std::shared_ptr<const Program> made_of(const std::shared_ptr<const Program>& program);
  std::shared_ptr<const Process> made_of(const std::shared_ptr<const Process>& process);
  template <class Part>
  std::shared_ptr<const Part> of(Known<Part>& known, const std::shared_ptr<const Part>& part);
  void hide_evidence(Finding& finding) const;
  template <class E>
  void hide(E& event);

  SipKey key_;
  const FileRules& rules_;
  Known<Program> programs_;
  Known<Process> processes_;
};

}  // namespace tracer::internal
