// SPDX-License-Identifier: Apache-2.0
#include <tracer/families.hpp>

namespace tracer {

std::optional<Family> family_from_name(std::string_view name) noexcept {
  for (const FamilyInfo& info : kFamilies)
    if (info.name == name) return info.family;
  return std::nullopt;
}

std::vector<Family> default_families() {
  std::vector<Family> families;
  for (const FamilyInfo& info : kFamilies)
    if (info.use == FamilyUse::kByDefault) families.push_back(info.family);
  return families;
}

std::string names_of_families() {
  std::string names;
  for (const FamilyInfo& info : kFamilies) {
    if (info.use == FamilyUse::kAlways) continue;
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

}  // namespace tracer
