// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/pattern.hpp"

namespace tracer::internal {

/// Where a host runs, as far as it says so itself. Each is absent where it does not.
struct HostIdentity {
  std::optional<std::string> provider;  ///< "aws", "gcp", "azure".
  std::optional<std::string> instance_type;
  std::optional<std::string> instance_id;

  bool operator==(const HostIdentity&) const = default;
};

/// An example that the rules carry, so that they test themselves.
struct HostExample {
  std::map<std::string, std::string> dmi;  ///< By file.
  HostIdentity identity;
};

/// Which provider a host belongs to, by rules/hosts.toml. Immutable after parse(), so any thread may ask.
class HostRules {
 public:
  /// The text of a file of DMI; absent: there is none, or it can't be read.
  using ReadDmi = std::function<std::optional<std::string>(const std::string& file)>;

  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static HostRules parse(std::string_view toml, std::string_view origin);
  /// The rules that are built into the library; parsed once.
  static const HostRules& builtin();

  HostIdentity identity_of(const ReadDmi& read) const;
  const std::vector<HostExample>& examples() const noexcept { return examples_; }

 private:
  friend class HostRulesReader;

  struct File {
    std::string name;
    Pattern pattern;
  };
  struct Rule {
    std::string provider;
    std::vector<File> dmi;
    std::vector<File> also;
    std::optional<Template> instance_type;
    std::optional<Template> instance_id;
  };

  std::vector<Rule> rules_;
  std::vector<HostExample> examples_;
};

}  // namespace tracer::internal
