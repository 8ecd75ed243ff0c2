// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/run.hpp>

#include "commands/commands.hpp"
#include "commands/history_json.hpp"
#include "history/history_file.hpp"
#include "history/session_history.hpp"
#include "process/descriptor_limit.hpp"
#include "process/own_memory.hpp"
#include "process/privileges.hpp"
#include "process/signals.hpp"
#include "rules/rules_file.hpp"
#include "serve/restart_keeping.hpp"
#include "serve/listener.hpp"
#include "serve/server.hpp"
#include "service/serve_config.hpp"
#include "service/serve_recordings.hpp"
#include "service/service_manager.hpp"
#include "show/printable.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tracer::Error;
using tracer::ErrorCode;
using tracer::internal::Keeping;
using tracer::internal::Server;
using tracer::internal::UniqueFd;

constexpr const char* kDefaultConfig = "/etc/tracer/tracerd.toml";
constexpr milliseconds kRound{1000};
constexpr milliseconds kLastWords{2000};
constexpr auto kStatusPeriod = std::chrono::seconds(10);
constexpr std::size_t kLeastRingBytes = 8u << 20;

/// Absent: there is none at the default place.
std::optional<ServeConfig> config_of(const Options& options) {
  const std::string name = options.config.value_or(kDefaultConfig);
  std::string text;
  try {
    text = tracer::internal::read_rules_file(name);
  } catch (const Error& error) {
    if (!options.config && error.error_number() == ENOENT) return std::nullopt;
    throw Error({ErrorCode::kFileUnreadable,
                 error.error_number(),
                 fmt::format("{} can't be read", name),
                 "name another with --config",
                 {}});
  }
  return parse_serve_config(text, name, options.check_only);
}

struct Sockets {
  UniqueFd everybodys;
  UniqueFd admin;
};

void make_folder_of(const std::filesystem::path& socket) {
  const std::string folder = socket.parent_path().string();
  if (::mkdir(folder.c_str(), 0755) == 0) {
    // Whatever the umask: everybody must get through.
    ::chmod(folder.c_str(), 0755);
  } else if (errno != EEXIST) {
    throw Error({ErrorCode::kFileUnwritable,
                 errno,
                 fmt::format("the folder {} can't be made", folder),
                 "make it, or name another socket",
                 {}});
  }
}

Sockets open_sockets(const ServeConfig& config, std::vector<HandedSocket> handed_sockets) {
  Sockets sockets;
  for (HandedSocket& handed : handed_sockets) {
    UniqueFd& place = handed.name.find("admin") != std::string::npos ? sockets.admin : sockets.everybodys;
    if (place)
      throw Error({ErrorCode::kContradiction,
                   0,
                   "two sockets for the same purpose were handed over",
                   "in the .socket unit of admin.sock, set FileDescriptorName=admin",
                   {}});
    place = std::move(handed.fd);
  }
  if (!sockets.everybodys) {
    make_folder_of(config.socket);
    sockets.everybodys = tracer::internal::listen_on(config.socket, 0666);
  }
  if (!sockets.admin && !config.admin_socket.empty()) {
    make_folder_of(config.admin_socket);
    sockets.admin = tracer::internal::listen_on(config.admin_socket, 0600);
  }
  return sockets;
}

/// /etc/subuid, with the users' names as numbers.
std::vector<tracer::internal::SubordinateIds> read_subordinate_ids() {
  std::ifstream file("/etc/subuid", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return tracer::internal::subordinate_ids(text, [](std::string_view name) {
    try {
      return static_cast<uid_t>(tracer::find_user(std::string(name)).uid);
    } catch (const Error&) {
      return static_cast<uid_t>(-1);
    }
  });
}

/// While its folder can be written. Null: none is configured. Throws Error: kFileUnreadable, kFileUnwritable,
/// kNewerSchema.
std::unique_ptr<tracer::internal::SessionHistory> open_history(
    const ServeConfig& config, const std::vector<tracer::internal::SubordinateIds>& subordinate_ids) {
  using tracer::internal::HistoryFile;
  if (config.history.empty()) return nullptr;
  const bool can_write = !HistoryFile(config.history, HistoryFile::Access::kWrite).is_read_only();
  if (!can_write)
    throw Error({ErrorCode::kFileUnwritable,
                 0,
                 fmt::format("the history {} can only be read", config.history.string()),
                 "see whether its folder can be written, or name another [history] file",
                 {}});
  return std::make_unique<tracer::internal::SessionHistory>(config.history, HistoryFile::Access::kWrite,
                                                            tracer::internal::UserIds(subordinate_ids));
}

tracer::SessionOptions session_options(const ServeConfig& config) {
  tracer::SessionOptions options = config.session;
  options.reader = tracer::ReaderMode::kOwnThread;
  options.ring_bytes = std::max(kLeastRingBytes, options.ring_bytes);
  return options;
}

std::shared_ptr<Keeping> keeping_of(std::vector<Keeping::Descriptor> left, const ServiceManager& manager) {
  if (!manager.keeps_descriptors() && left.empty()) return nullptr;
  return std::make_shared<Keeping>(
      std::move(left),
      Keeping::Holder{[&manager](const std::string& name, int fd) {
                        if (!manager.store(name, fd)) say("tracerd: the service manager did not take {}\n", name);
                      },
                      [&manager](const std::string& name) { manager.drop(name); }, [&manager] { manager.wait(); },
                      [](const std::string& line) { say("tracerd: {}\n", tracer::internal::printable(line)); }});
}

/// The signal that asked for the end; 0: the session has ended.
int serve_until_the_end(Server& server, tracer::Session& session, ServeRecordings& recordings, Signals& signals,
                        const ServiceManager& manager) {
  auto next_watchdog = steady_clock::now();
  auto next_status = steady_clock::now();
  while (!session.finished()) {
    const auto round = std::min(kRound, manager.watchdog_period().value_or(kRound));
    server.run(milliseconds(signals.timeout(static_cast<int>(round.count()))), signals.to_poll().fd);
    while (const auto signal = signals.next()) {
      if (signal->number == SIGHUP) {
        recordings.begin_anew();
      } else if (asks_for_end(*signal)) {
        return signal->number;
      }
    }
    const auto now = steady_clock::now();
    recordings.look(now);
    if (const auto period = manager.watchdog_period(); period && now >= next_watchdog) {
      manager.tell("WATCHDOG=1");
      next_watchdog = now + *period;
    }
    if (now >= next_status) {
      manager.tell(fmt::format("STATUS=tracing; {} connections", server.connections()));
      next_status = now + kStatusPeriod;
      give_back_free_memory();
    }
  }
  return 0;
}

void say_unused(const ServeConfig& config) {
  for (const std::string& key : config.unused_keys) say("tracerd: {} is not used any more: see docs/service.md\n", key);
  if (!config.recordings.outbox.folder.empty() && !config.recordings.outbox.group)
    say("tracerd: there is no group tracer-ship: only root can take files from the outbox {}\n",
        tracer::internal::printable(config.recordings.outbox.folder.string()));
}

}  // namespace

int serve_command(const Options& options) {
  const std::optional<ServeConfig> given = config_of(options);
  if (options.check_only) {
    if (given) say_unused(*given);
    fmt::print("tracerd: {}\n", given ? fmt::format("{}: no mistakes", options.config.value_or(kDefaultConfig))
                                      : fmt::format("there is no {}: the defaults hold", kDefaultConfig));
    return 0;
  }
  ServeConfig config = given.value_or(ServeConfig());
  say_unused(config);
  if (options.socket) {
    config.socket = std::filesystem::absolute(*options.socket);
    config.admin_socket.clear();
  }
  tracer::internal::ServiceOptions service_options{.limits = config.limits, .sharing = config.sharing};
  if (::geteuid() != 0)
    throw Error({ErrorCode::kPermission,
                 EPERM,
                 "only root may serve a whole host",
                 "use sudo, or systemctl start tracerd; tracerd run and watch --host follow your own processes",
                 {}});
  Handed handed = take_handed();
  service_options.subordinate_ids = read_subordinate_ids();
  // What the service itself does is root's.
  if (config.recordings.by_owner) service_options.subordinate_ids.push_back({0, kNobodyElse, 1});
  const ServiceManager manager;
  const std::shared_ptr<Keeping> keeping = keeping_of(std::move(handed.kept), manager);
  manager.tell("STATUS=loading");
  raise_descriptor_limit();
  ServeRecordings recordings(config.recordings);
  service_options.history = open_history(config, service_options.subordinate_ids);
  service_options.history_json = [file = config.history](const tracer::internal::HistoryAnswer& answer) {
    return history_json(answer, file);
  };
  Sockets sockets = open_sockets(config, std::move(handed.sockets));
  Signals signals;
  go_ahead_of_others();
  const std::unique_ptr<tracer::Session> session =
      keeping
          ? keeping->open_session(session_options(config), tracer::internal::UserIds(service_options.subordinate_ids))
          : std::make_unique<tracer::Session>(session_options(config));
  drop_privileges_to_serve();
  keep_memory_small();
  for (const tracer::Problem& problem : session->rule_problems())
    say("tracerd: a rule is left out: {}\n", tracer::internal::printable_lines(problem.what));
  service_options.more_status = [&recordings] { return "{\"recordings\":" + recordings.status() + '}'; };
  service_options.keeping = keeping;
  service_options.by_owner = config.recordings.by_owner && !config.recordings.folder.empty();
  if (service_options.by_owner) service_options.recordings = config.recordings.folder;
  Server server(*session, std::move(service_options));
  recordings.start(*session, server, keeping ? keeping->left() : nullptr);
  if (keeping) keeping->forget_left();
  session->start();
  if (keeping) keeping->store();
  server.listen(std::move(sockets.everybodys), false);
  if (sockets.admin) server.listen(std::move(sockets.admin), true);
  manager.tell("READY=1\nSTATUS=tracing");
  say("tracerd: serving on {}{}\n", tracer::internal::printable(config.socket.string()),
      ::isatty(STDERR_FILENO) != 0 ? "; press Ctrl-C to stop" : "");
  const int ended_by = serve_until_the_end(server, *session, recordings, signals, manager);
  manager.tell("STOPPING=1");
  if (keeping && ended_by == SIGTERM) {
    // Whether another process follows, only the manager knows: if so, it goes on where this one ends.
    recordings.end();
    return 0;
  }
  if (keeping) keeping->end();
  session->stop();
  server.finish(kLastWords);
  recordings.end();
  return 0;
}

}  // namespace tracerd
