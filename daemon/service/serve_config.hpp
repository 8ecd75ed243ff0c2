// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/session.hpp>

#include "files/outbox.hpp"
#include "serve/limits.hpp"

namespace tracerd {

/// What /etc/tracer/tracerd.toml says; docs/service.md describes each key.
struct ServeConfig {
  std::filesystem::path socket = "/run/tracer/tracer.sock";
  std::filesystem::path admin_socket = "/run/tracer/admin.sock";  ///< Empty: none.
  tracer::SessionOptions session = {};
  struct Recordings {
    std::filesystem::path folder = {};  ///< Empty: nothing is recorded.
    std::uint64_t file_bytes = 256u << 20;
    std::uint32_t files = 8;
    std::chrono::hours max_age{7 * 24};
    bool by_owner = false;         ///< One recording of each owner, which they can read, in place of one of the host.
    std::chrono::seconds seal{0};  ///< A file is left after so long; 0: when it is full, or the others are too old.
    std::uint64_t most_bytes = 0;  ///< What is recorded, together.
    Outbox::Options outbox = {};   ///< With one, and without `seal`: by what is in the file.
  };
  Recordings recordings = {};
  std::filesystem::path history = {};  ///< Empty: none is kept.
  tracer::internal::ServeLimits limits = {};
  tracer::internal::Sharing sharing = {};
  std::vector<std::string> unused_keys = {};  ///< That are in the file and mean nothing any more.
};

/// Names of users and groups must be known here. `with_folders`: a folder that a service would wait for must be there,
/// too. Throws tracer::Error(kInvalidRules) with every mistake and its line.
ServeConfig parse_serve_config(std::string_view text, std::string_view origin, bool with_folders);

}  // namespace tracerd
