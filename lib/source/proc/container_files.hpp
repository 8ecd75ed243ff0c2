// SPDX-License-Identifier: Apache-2.0
/// What container runtimes keep of their containers in files.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/container_rules.hpp"

namespace tracer::internal {

/// Absent: the files don't say it.
struct ContainerFacts {
  std::optional<std::string> name;
  std::optional<std::string> image;
};

struct ContainerQuestion {
  std::string id;
  std::vector<ContainerFile> files;  ///< The first that has the container answers.
  /// Who runs it: only files of theirs, in their home folder, are read. Absent: the system; only files of root are
  /// read.
  std::optional<uid_t> owner;
};

/// What the text says of the container; absent: it is no JSON, or has nothing of it. Hostile input.
std::optional<ContainerFacts> container_facts(std::string_view text, const ContainerFile& file, std::string_view id);

/// May wait for file systems. `root`: in place of the folder "/".
ContainerFacts read_container_facts(const ContainerQuestion& question, const std::string& root = "");

/// "user-1000.slice" in the path of a cgroup: whose containers are in it. Absent: the system's.
std::optional<uid_t> owner_of_slice(std::string_view cgroup);

}  // namespace tracer::internal
