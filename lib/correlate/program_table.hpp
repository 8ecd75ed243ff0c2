// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/process.hpp>

#include "base/counter.hpp"
#include "rules/secrets/secret_rules.hpp"
#include "rules/tool_rules.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// From the words that a process executes to its program: the tool named, secrets masked. Pipelines execute the same
/// words again and again, so those that had nothing to mask are kept, within a bound. One thread at a time, but for the
/// counter.
class ProgramTable {
 public:
  static constexpr std::size_t kCapacity = 1024;

  /// `tools` is never null. `secrets` null: nothing is masked.
  ProgramTable(std::shared_ptr<const ToolRules> tools, std::shared_ptr<const SecretRules> secrets)
      : tools_(std::move(tools)), secrets_(std::move(secrets)) {}

  /// Never null. `comm` empty: not known.
  std::shared_ptr<const Program> program_of(const ProgramText& text, const std::string& comm);
  const ToolRules& tools() const noexcept { return *tools_; }
  std::uint64_t secrets_masked() const noexcept { return secrets_masked_.value(); }

 private:
  static std::size_t hash_of(const std::optional<std::string>& exe, const std::optional<std::vector<std::string>>& argv,
                             const std::optional<std::string>& cwd, const std::optional<std::uint32_t>& euid);
  std::shared_ptr<const Program> find(const ProgramText& text, const std::string& comm) const;
  void keep(std::shared_ptr<const Program> program);

  std::shared_ptr<const ToolRules> tools_;
  std::shared_ptr<const SecretRules> secrets_;
  std::unordered_map<std::size_t, std::shared_ptr<const Program>> programs_;  ///< By hash; a later one takes the place.
  Counter secrets_masked_;
};

}  // namespace tracer::internal
