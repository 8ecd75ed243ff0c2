// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tracer/error.hpp>
#include <tracer/tier.hpp>

#include "base/quantities.hpp"
#include "commands/commands.hpp"
#include "commands/prometheus_text.hpp"
#include "protocol/messages.hpp"
#include "show/printable.hpp"
#include "source/client/connection.hpp"

namespace tracerd {
namespace {

using nlohmann::json;
using tracer::internal::format_bytes;
using tracer::internal::format_count;
using tracer::internal::printable;
using tracer::internal::printable_lines;

std::uint64_t number(const json& object, const char* key) { return object.value(key, std::uint64_t{0}); }
json object_in(const json& object, const char* key) { return object.value(key, json::object()); }
json list_in(const json& object, const char* key) { return object.value(key, json::array()); }

std::string text_of_losses(const json& losses) {
  std::string text;
  for (const auto& [cause, count] : losses.get_ref<const json::object_t&>())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.dump(), printable(cause));
  return text.empty() ? "nothing" : text;
}

std::string text_of_user(const json& user) {
  const auto count = [&user](const char* key, const char* one, const char* many) {
    return format_count(number(user, key), one, many);
  };
  std::string text = fmt::format(
      "user {}: {}, {}, {}, {}, {}", number(user, "uid"), count("connections", "connection", "connections"),
      count("subscriptions", "subscription", "subscriptions"), count("announcements", "announcement", "announcements"),
      count("labels", "label", "labels"), format_bytes(number(user, "bytes")));
  if (const auto dropped = number(user, "dropped_events"); dropped != 0)
    text += fmt::format("; {} events dropped", dropped);
  if (const auto refused = number(user, "refused"); refused != 0)
    text += fmt::format("; refused {}", format_count(refused, "time", "times"));
  if (const json lost = object_in(user, "lost"); !lost.empty()) text += "; lost " + text_of_losses(lost);
  return text + '\n';
}

std::string text_of_outbox(const json& outbox) {
  std::string text =
      fmt::format("outbox {}: {} in {}", printable(outbox.value("folder", "?")), format_bytes(number(outbox, "bytes")),
                  format_count(number(outbox, "parts"), "part", "parts"));
  if (outbox.contains("oldest_s")) text += fmt::format(", the oldest of {} s ago", number(outbox, "oldest_s"));
  if (const auto gaps = number(outbox, "gaps"); gaps != 0) text += "; " + format_count(gaps, "gap", "gaps");
  if (const auto removed = number(outbox, "removed"); removed != 0)
    text += fmt::format("; {} removed, as it was full", format_count(removed, "part", "parts"));
  if (const auto failures = number(outbox, "failures"); failures != 0)
    text += fmt::format("; failed {}", format_count(failures, "time", "times"));
  text += '\n';
  if (const auto problem = outbox.find("problem"); problem != outbox.end() && problem->is_string())
    text += "it takes nothing now: " + printable_lines(problem->get<std::string>()) + '\n';
  return text;
}

std::string text_of_recordings(const json& recordings) {
  std::string text = fmt::format("records to {}", printable(recordings.value("file", "?")));
  if (recordings.contains("used_bytes"))
    text += fmt::format(": {} in {}", format_bytes(number(recordings, "used_bytes")),
                        format_count(number(recordings, "files_there"), "file", "files"));
  if (recordings.contains("free_bytes"))
    text += fmt::format("; {} free on its disk", format_bytes(number(recordings, "free_bytes")));
  if (const auto dropped = number(recordings, "dropped_events"); dropped != 0)
    text += fmt::format("; {} events are missing, as it was too slow", dropped);
  if (const auto failures = number(recordings, "failures"); failures != 0)
    text += fmt::format("; failed {}", format_count(failures, "time", "times"));
  text += '\n';
  if (const auto problem = recordings.find("problem"); problem != recordings.end() && problem->is_string())
    text += "it does not record now: " + printable_lines(problem->get<std::string>()) + '\n';
  for (const json& owner : list_in(recordings, "owners")) {
    text += fmt::format("  of user {}: {} in {}", number(owner, "uid"), format_bytes(number(owner, "used_bytes")),
                        format_count(number(owner, "files_there"), "file", "files"));
    if (const auto removed = number(owner, "removed"); removed != 0) text += fmt::format("; {} removed", removed);
    text += '\n';
  }
  if (const auto left_out = number(recordings, "owners_left_out"); left_out != 0)
    text += fmt::format("  not recorded: {}\n", format_count(left_out, "user", "users"));
  const json outbox = object_in(recordings, "outbox");
  return outbox.empty() ? text : text + text_of_outbox(outbox);
}

std::string text_of(const json& status) {
  std::string text =
      fmt::format("tracerd {}, process {}, running for {} s", printable(status.value("tracer_version", "?")),
                  number(status, "pid"), number(status, "uptime_s"));
  if (status.contains("connections"))
    text += fmt::format("; {}", format_count(number(status, "connections"), "connection", "connections"));
  if (const auto refused = number(status, "refused_connections"); refused != 0)
    text += fmt::format(", {} refused", refused);
  text += "\ntraces:";
  std::string off;
  for (const json& family : list_in(status, "families")) {
    const std::string name = printable(family.value("family", "?"));
    const bool is_active = family.value("active", false);
    text += fmt::format(" {}{}", name, is_active ? "" : " (off)");
    const json problem = object_in(family, "problem");
    if (!is_active && problem.contains("message"))
      off += fmt::format("off:    {}: {}\n", name, printable(problem.value("message", "?")));
  }
  text += '\n' + off;
  const json cost = object_in(status, "cost");
  text += fmt::format("cost:   {:.1f} s of CPU time", static_cast<double>(number(cost, "cpu_ns")) / 1e9);
  if (cost.contains("memory_bytes"))
    text += fmt::format(", {:.1f} MiB of memory", static_cast<double>(number(cost, "memory_bytes")) / (1 << 20));
  text += fmt::format("; {} events\n", number(status, "events"));
  text += fmt::format("lost:   {}\n", text_of_losses(object_in(status, "losses")));
  for (const json& user : list_in(status, "users")) text += text_of_user(user);
  const json recordings = object_in(status, "more").value("recordings", json());
  return recordings.is_object() ? text + text_of_recordings(recordings) : text;
}

template <class F>
std::string read_as(const std::filesystem::path& socket, const F& text) {
  try {
    return text();
  } catch (const json::exception&) {
    throw tracer::Error({tracer::ErrorCode::kServiceRefused,
                         0,
                         fmt::format("what listens on {} does not answer as a service does", socket.string()),
                         "name the socket of tracerd serve; a newer service needs a newer tracerd: see --json",
                         {}});
  }
}

std::string usage_from(tracer::internal::ServiceConnection& service) try {
  return tracer::internal::usage_from(service.ask(tracer::internal::UsageRequest{})).usage;
} catch (const tracer::Error& error) {
  if (!tracer::internal::is_unknown_request(error)) throw;
  throw tracer::Error({tracer::ErrorCode::kServiceRefused,
                       0,
                       "this service is of an earlier version, which counts nothing for Prometheus",
                       "upgrade tracerd, and restart it",
                       {}});
}

}  // namespace

int status_command(const Options& options) {
  const std::filesystem::path socket =
      options.socket ? std::filesystem::path(*options.socket) : tracer::service_socket_to_try();
  tracer::internal::ServiceConnection service(socket);
  const std::string status = tracer::internal::status_from(service.ask(tracer::internal::StatusRequest{})).status;
  if (options.as_json) {
    fmt::print("{}\n", status);
  } else {
    const std::string usage = options.as_prometheus ? usage_from(service) : std::string();
    fmt::print("{}", read_as(socket, [&] {
                 const json all = json::parse(status);
                 return options.as_prometheus ? prometheus_text(all, json::parse(usage)) : text_of(all);
               }));
  }
  return 0;
}

}  // namespace tracerd
