// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include <tracer/process.hpp>

#include "source/records.hpp"

namespace tracer::internal {

/// Programs that were named and had nothing to mask: pipelines execute the same words again and again. Holds nothing
/// that was masked, and so no secret. Bounded.
class ProgramCache {
 public:
  static constexpr std::size_t kCapacity = 1024;

  /// Null: it is not there.
  std::shared_ptr<const Program> find(const ProgramText& text, const std::string& comm) const;
  void add(std::shared_ptr<const Program> program);

 private:
  static std::size_t hash_of(const std::optional<std::string>& exe, const std::optional<std::vector<std::string>>& argv,
                             const std::optional<std::string>& cwd);

  std::unordered_map<std::size_t, std::shared_ptr<const Program>> programs_;  ///< By hash; a later one takes the place.
};

}  // namespace tracer::internal
