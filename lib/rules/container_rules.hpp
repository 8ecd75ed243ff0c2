// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// A file in which a runtime keeps its containers.
struct ContainerFile {
  std::string path;  ///< `{id}` and `{home}` stand for the container's id and its owner's home; `*` as in the shell.
  std::vector<std::string> name;  ///< Where in its JSON the container's name is: keys and numbers, from the outside in.
  std::vector<std::string> image;  ///< Likewise. Empty, as `name`: nowhere.
};

/// Whose a cgroup is that is named by a container's id.
struct ContainerPlace {
  std::string runtime;   ///< "docker", "podman" …
  bool monitor = false;  ///< The processes in it are the runtime's own.
  std::vector<ContainerFile> files = {};
};

/// An example that the rules carry, so that they test themselves. `{id}` in its path stands for a container's id.
struct ContainerExample {
  std::string path;
  ContainerPlace place;
};

/// Which runtime a container's cgroup belongs to, by rules/containers.toml. Immutable after parse(), so any thread may
/// ask.
class ContainerRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static ContainerRules parse(std::string_view toml, std::string_view origin);
  /// The rules that are built into the library; parsed once.
  static const ContainerRules& builtin();

  /// By the path of a cgroup and container_id_of() of it. Absent: no rule fits. Linear time on hostile input.
  std::optional<ContainerPlace> place_of(std::string_view path, std::string_view id) const;
  const std::vector<ContainerExample>& examples() const noexcept { return examples_; }

 private:
  friend class ContainerRulesReader;

  struct Rule {
    std::vector<std::string> components;  ///< Globs; the last with `{id}`.
    ContainerPlace place;
  };

  std::vector<Rule> rules_;
  std::vector<ContainerExample> examples_;
};

/// The path up to the component that names the container; `id` is container_id_of(path).
std::string_view container_cgroup(std::string_view path, std::string_view id) noexcept;

}  // namespace tracer::internal
