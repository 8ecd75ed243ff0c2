// SPDX-License-Identifier: Apache-2.0
#include "service/serve_config.hpp"

#include <sys/un.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/run.hpp>

#include "base/number.hpp"
#include "rules/rules_file.hpp"
#include "rules/rules_reader.hpp"

namespace tracerd {
namespace {

using tracer::internal::check_keys;
using tracer::internal::line_of;
using tracer::internal::read_flag;
using tracer::internal::read_string;
using tracer::internal::RuleMistakes;

/// Where the key is absent, `value` stays as it is.
template <class Number>
void read_number(const toml::table& table, std::string_view key, std::int64_t least, std::int64_t most, Number& value,
                 RuleMistakes& mistakes) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const auto number = node->value_exact<std::int64_t>();
  if (!number || *number < least || *number > most) {
    mistakes.add(line_of(*node), fmt::format("\"{}\" must be a whole number from {} to {}", key, least, most));
    return;
  }
  value = static_cast<Number>(*number);
}

void read_path(const toml::table& table, std::string_view key, bool may_be_empty, std::filesystem::path& path,
               RuleMistakes& mistakes) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const std::string text = node->value_exact<std::string>().value_or("?");
  if ((text.empty() && !may_be_empty) || (!text.empty() && text.front() != '/') || text.find('\0') != std::string::npos)
    mistakes.add(line_of(*node), fmt::format("\"{}\" must be an absolute path", key));
  path = text;
}

/// Null: it is not there, or is no table, which is a mistake.
const toml::table* table_of(const toml::table& root, std::string_view key, RuleMistakes& mistakes) {
  const toml::node* node = root.get(key);
  if (node == nullptr) return nullptr;
  if (node->as_table() == nullptr) mistakes.add(line_of(*node), fmt::format("\"{}\" must be a table: [{}]", key, key));
  return node->as_table();
}

void read_families(const toml::table& table, tracer::SessionOptions& options, RuleMistakes& mistakes) {
  const toml::node* node = table.get("families");
  if (node == nullptr) return;
  options.families.clear();
  for (const std::string& name : tracer::internal::read_strings(table, "families", false, mistakes)) {
    const auto family = tracer::family_from_name(name);
    if (!family || info_of(*family).use == tracer::FamilyUse::kAlways) {
      mistakes.add(line_of(*node),
                   fmt::format("there is no family \"{}\"; there are {}", name, tracer::names_of_families()));
    } else {
      options.families.push_back(*family);
    }
  }
}

void read_session(const toml::table& table, tracer::SessionOptions& options, RuleMistakes& mistakes) {
  check_keys(table, "[session]",
             {"families", "sample_interval_ms", "max_cost_percent", "ring_mib", "max_processes", "max_threads",
              "max_cgroups", "engine_rules", "secret_rules", "read_engine_notes", "hash_paths"},
             mistakes);
  read_families(table, options, mistakes);
  std::int64_t interval_ms = options.sample_interval.count();
  read_number(table, "sample_interval_ms", 100, 24 * 3600 * 1000, interval_ms, mistakes);
  options.sample_interval = std::chrono::milliseconds(interval_ms);
  std::int64_t percent = 0;
  read_number(table, "max_cost_percent", 1, 100000, percent, mistakes);
  if (percent != 0) options.max_cost_share = static_cast<double>(percent) / 100;
  std::uint64_t ring_mib = 0;
  read_number(table, "ring_mib", 1, 1024, ring_mib, mistakes);
  if (ring_mib != 0 && !std::has_single_bit(ring_mib))
    mistakes.add(line_of(*table.get("ring_mib")), "\"ring_mib\" must be a power of two");
  if (ring_mib != 0) options.ring_bytes = ring_mib << 20;
  constexpr std::int64_t kMost = 1 << 22;
  read_number(table, "max_processes", 1, kMost, options.max_processes, mistakes);
  read_number(table, "max_threads", 1, kMost, options.max_threads, mistakes);
  read_number(table, "max_cgroups", 1, kMost, options.max_cgroups, mistakes);
  for (const auto& [key, file] :
       {std::pair("engine_rules", &options.engine_rules), std::pair("secret_rules", &options.secret_rules)}) {
    read_path(table, key, true, *file, mistakes);
    if (!file->is_absolute()) continue;
    try {
      tracer::internal::read_rules_file(*file);
    } catch (const tracer::Error& error) {
      mistakes.add(line_of(*table.get(key)),
                   fmt::format("{}: {}", error.problems().front().what, std::strerror(error.error_number())));
    }
  }
  if (table.get("read_engine_notes") != nullptr)
    options.read_engine_notes = read_flag(table, "read_engine_notes", mistakes);
  options.hash_paths = read_flag(table, "hash_paths", mistakes);
}

/// Where a listening socket could not be made; see listen_on(), which makes it by a longer name first.
void check_socket(const toml::table& table, std::string_view key, const std::filesystem::path& path,
                  RuleMistakes& mistakes) {
  constexpr std::size_t kMostBytes = sizeof(sockaddr_un::sun_path) - 1 - std::string_view(".4194304").size();
  if (path.native().size() > kMostBytes)
    mistakes.add(line_of(*table.get(key)), fmt::format("\"{}\" has {} bytes: a socket's path may have {}", key,
                                                       path.native().size(), kMostBytes));
}

void read_socket(const toml::table& table, ServeConfig& config, RuleMistakes& mistakes) {
  check_keys(table, "[socket]", {"path", "admin_path"}, mistakes);
  read_path(table, "path", false, config.socket, mistakes);
  read_path(table, "admin_path", true, config.admin_socket, mistakes);
  check_socket(table, "path", config.socket, mistakes);
  check_socket(table, "admin_path", config.admin_socket, mistakes);
  const toml::node* const last = table.get("admin_path") != nullptr ? table.get("admin_path") : table.get("path");
  if (last != nullptr && config.socket == config.admin_socket)
    mistakes.add(line_of(*last), "\"path\" and \"admin_path\" must be two sockets");
}

/// The unit makes it before the service starts (StateDirectory=).
constexpr const char* kStateFolder = "/var/lib/tracer";

void check_folder(const toml::table& table, std::string_view key, const std::filesystem::path& folder,
                  RuleMistakes& mistakes) {
  std::error_code error;
  if (folder == kStateFolder || std::filesystem::is_directory(folder, error)) return;
  const bool is_there = !error || error != std::errc::no_such_file_or_directory;
  mistakes.add(line_of(*table.get(key)), fmt::format("\"{}\": {} {}", key, folder.string(),
                                                     !is_there ? "is not there"
                                                     : error   ? error.message()
                                                               : "is no folder"));
}

std::optional<gid_t> gid_of(const std::string& name) {
  using tracer::internal::parse_number;
  if (const auto gid = parse_number<gid_t>(name)) return gid;
  std::ifstream groups("/etc/group");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.substr(0, first) != name) continue;
    return parse_number<gid_t>(std::string_view(line).substr(second + 1, line.find(':', second + 1) - second - 1));
  }
  return std::nullopt;
}

/// Of those who ship what is in an outbox; the packages make it.
constexpr const char* kGroupOfShippers = "tracer-ship";
/// Where parts are sealed each minute, as many small files as so few large ones.
constexpr std::uint32_t kFilesWithOutbox = 1000;

void read_outbox(const toml::table& table, ServeConfig::Recordings& recordings, bool with_folders,
                 RuleMistakes& mistakes) {
  std::filesystem::path& outbox = recordings.outbox.folder;
  read_path(table, "outbox", true, outbox, mistakes);
  std::uint64_t mib = 4096;
  read_number(table, "outbox_mib", 1, 1 << 24, mib, mistakes);
  recordings.outbox.most_bytes = mib << 20;
  if (!outbox.is_absolute()) return;
  const auto refuse = [&](const std::string& why) {
    mistakes.add(line_of(*table.get("outbox")), fmt::format("\"outbox\": {}", why));
  };
  if (!outbox.has_filename()) outbox = outbox.parent_path();
  if (recordings.folder.empty()) return refuse("nothing is recorded: set \"folder\", too");
  if (outbox == recordings.folder) return refuse("must be another folder than \"folder\", such as one in it");
  if (with_folders && outbox.parent_path() != recordings.folder)
    check_folder(table, "outbox", outbox.parent_path(), mistakes);
  if (with_folders && Outbox::is_elsewhere(recordings.folder, outbox))
    refuse(fmt::format("is on another file system than \"folder\": name one on the same, such as {}",
                       (recordings.folder / "outbox").string()));
  recordings.outbox.group = gid_of(kGroupOfShippers);
  if (table.get("files") == nullptr) recordings.files = kFilesWithOutbox;
}

void read_recordings(const toml::table& table, ServeConfig::Recordings& recordings, bool with_folders,
                     RuleMistakes& mistakes) {
  check_keys(table, "[recordings]",
             {"folder", "file_mib", "files", "max_age_hours", "seal_s", "by_owner", "outbox", "outbox_mib"}, mistakes);
  read_path(table, "folder", true, recordings.folder, mistakes);
  if (with_folders && recordings.folder.is_absolute()) check_folder(table, "folder", recordings.folder, mistakes);
  std::uint64_t file_mib = recordings.file_bytes >> 20;
  read_number(table, "file_mib", 1, 1 << 20, file_mib, mistakes);
  recordings.file_bytes = file_mib << 20;
  read_number(table, "files", 1, 9999, recordings.files, mistakes);
  recordings.most_bytes = recordings.file_bytes * (recordings.files + 1);
  read_outbox(table, recordings, with_folders, mistakes);
  std::int64_t hours = recordings.max_age.count();
  read_number(table, "max_age_hours", 1, 100 * 365 * 24, hours, mistakes);
  recordings.max_age = std::chrono::hours(hours);
  std::int64_t seal_s = 0;
  read_number(table, "seal_s", 1, 24 * 3600, seal_s, mistakes);
  recordings.seal = std::chrono::seconds(seal_s);
  recordings.by_owner = read_flag(table, "by_owner", mistakes);
}

void read_limits(const toml::table& table, ServeConfig& config, RuleMistakes& mistakes) {
  // Users share what these had bounded: it is charged in bytes, or as much as is free.
  constexpr std::array<std::string_view, 5> kUnused = {"connections_of_user", "subscriptions_of_user", "labels_of_user",
                                                       "announcements_of_user", "mib_of_subscription"};
  check_keys(table, "[limits]",
             {"connections", "mib_of_user", "mib_kept", "kept_s", "stalled_s", "connections_of_user",
              "subscriptions_of_user", "labels_of_user", "announcements_of_user", "mib_of_subscription"},
             mistakes);
  for (const std::string_view key : kUnused)
    if (table.contains(key)) config.unused_keys.push_back(fmt::format("[limits] {}", key));
  tracer::internal::ServeLimits& limits = config.limits;
  read_number(table, "connections", 32, 1 << 20, limits.connections, mistakes);
  const auto read_mib = [&](std::string_view key, std::size_t& bytes) {
    std::size_t mib = bytes >> 20;
    read_number(table, key, 1, 1 << 16, mib, mistakes);
    bytes = mib << 20;
  };
  read_mib("mib_of_user", limits.bytes_of_user);
  read_mib("mib_kept", limits.bytes_kept);
  std::int64_t seconds = limits.kept_without_clients.count();
  read_number(table, "kept_s", 0, 24 * 3600, seconds, mistakes);
  limits.kept_without_clients = std::chrono::seconds(seconds);
  seconds = limits.stalled.count();
  read_number(table, "stalled_s", 1, 24 * 3600, seconds, mistakes);
  limits.stalled = std::chrono::seconds(seconds);
}

void read_share(const toml::table& share, tracer::internal::Sharing& sharing, RuleMistakes& mistakes) {
  check_keys(share, "[[share]]", {"owner", "group"}, mistakes);
  const std::string owner = read_string(share, "owner", true, mistakes);
  const std::string group = read_string(share, "group", true, mistakes);
  const auto gid = gid_of(group);
  if (!gid && !group.empty())
    mistakes.add(line_of(*share.get("group")), fmt::format("there is no group '{}' in /etc/group", group));
  if (owner.empty()) return;
  try {
    const uid_t uid = tracer::find_user(owner).uid;
    if (gid) sharing[uid].push_back(*gid);
  } catch (const tracer::Error& error) {
    mistakes.add(line_of(*share.get("owner")), error.problems().front().what);
  }
}

}  // namespace

ServeConfig parse_serve_config(std::string_view text, std::string_view origin, bool with_folders) {
  ServeConfig config;
  tracer::internal::read_rules(text, origin, [&config, with_folders](const toml::table& root, RuleMistakes& mistakes) {
    check_keys(root, "the file", {"schema", "socket", "session", "recordings", "history", "limits", "share"}, mistakes);
    if (const auto* socket = table_of(root, "socket", mistakes)) read_socket(*socket, config, mistakes);
    if (const auto* session = table_of(root, "session", mistakes)) read_session(*session, config.session, mistakes);
    if (const auto* recordings = table_of(root, "recordings", mistakes))
      read_recordings(*recordings, config.recordings, with_folders, mistakes);
    if (const auto* history = table_of(root, "history", mistakes)) {
      check_keys(*history, "[history]", {"file"}, mistakes);
      read_path(*history, "file", true, config.history, mistakes);
      if (with_folders && config.history.is_absolute())
        check_folder(*history, "file", config.history.parent_path(), mistakes);
    }
    if (const auto* limits = table_of(root, "limits", mistakes)) read_limits(*limits, config, mistakes);
    tracer::internal::for_each_table(root, "share", mistakes,
                                     [&](const toml::table& share) { read_share(share, config.sharing, mistakes); });
  });
  return config;
}

}  // namespace tracerd
