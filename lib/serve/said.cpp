// SPDX-License-Identifier: Apache-2.0
#include "serve/said.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/proc_stat.hpp"
#include "base/read_at.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {
namespace {

UniqueFd memory_for_lines() {
  UniqueFd memory(::memfd_create("tracer-said", MFD_CLOEXEC));
  if (!memory) throw Error({ErrorCode::kNoMemory, errno, "can't make memory that outlives the service", {}, {}});
  return memory;
}

std::string text_in(int memory) {
  struct stat status {};
  std::string text;
  if (::fstat(memory, &status) != 0 || status.st_size <= 0) return text;
  text.resize(std::min(static_cast<std::size_t>(status.st_size), 2 * Said::kMostBytes));
  text.resize(read_at(memory, std::as_writable_bytes(std::span(text)), 0));
  return text;
}

template <class Number>
std::optional<Number> word_as(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return parse_number<Number>(word);
}

/// A process that began later has only got the pid of the one that was meant.
bool lives_since(pid_t pid, std::uint64_t said_ns) {
  const auto stat = read_proc_stat(pid);
  return stat && stat->started_from_ns <= said_ns;
}

const OfProcess* process_in(const AnnouncementKey& key) {
  if (const auto* process = std::get_if<OfProcess>(&key)) return process;
  if (const auto* below = std::get_if<BelowProcess>(&key)) return &below->process;
  return nullptr;
}

/// What one line says, and the line.
struct Lines {
  std::map<std::uint32_t, std::pair<Context, std::string_view>> contexts;
  std::deque<std::pair<Said::Announced, std::string_view>> announcements;
  std::map<pid_t, std::string_view> commands;
};

/// Absent: it does not hold any more, or makes no sense.
std::optional<Said::Announced> announced_in(std::string_view line) {
  const auto uid = word_as<uid_t>(line);
  const auto pid = word_as<pid_t>(line);
  const auto said_ns = word_as<std::uint64_t>(line);
  const auto until_ns = word_as<std::uint64_t>(line);
  if (!uid || !pid || !said_ns || !until_ns) return std::nullopt;
  const std::uint64_t now_ns = boot_time_ns();
  if (*until_ns <= now_ns) return std::nullopt;
  const Request request = request_from(line);
  const auto* announce = std::get_if<AnnounceRequest>(&request);
  if (announce == nullptr) return std::nullopt;
  Said::Announced announced{announce->announcement, {*pid, *pid, *uid}};
  const OfProcess* const process = process_in(announced.announcement.key);
  if (process != nullptr && !process->start_ns && !lives_since(process->pid, *said_ns)) return std::nullopt;
  announced.announcement.expires_after =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(*until_ns - now_ns));
  return announced;
}

void take_line(std::string_view line, Lines& lines) {
  const std::string_view whole = line;
  const char kind = line.empty() ? '\0' : line.front();
  line.remove_prefix(std::min<std::size_t>(line.size(), 2));
  if (kind == 'a') {
    if (auto announced = announced_in(line)) lines.announcements.emplace_back(std::move(*announced), whole);
  } else if (kind == 'f') {
    if (const auto number = word_as<std::uint32_t>(line)) lines.contexts.erase(*number);
  } else if (kind == 'c') {
    const auto number = word_as<std::uint32_t>(line);
    const auto owner = word_as<std::int64_t>(line);
    if (!number || !owner) return;
    const Request request = request_from(line);
    const auto* label = std::get_if<LabelRequest>(&request);
    if (label == nullptr) return;
    Context context = label->context;
    if (*owner >= 0) context.owner_uid = static_cast<std::uint32_t>(*owner);
    lines.contexts.insert_or_assign(*number, std::pair(std::move(context), whole));
  } else if (kind == 't') {
    const auto pid = word_as<pid_t>(line);
    const auto said_ns = word_as<std::uint64_t>(line);
    if (pid && said_ns && lives_since(*pid, *said_ns)) lines.commands.insert_or_assign(*pid, whole);
  }
}

/// The last line may be cut.
Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    try {
      take_line(text.substr(0, end), lines);
    } catch (const Error&) {
      // It makes no sense to this version.
    }
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

Said::Said() : memory_(memory_for_lines()) {}

Said::Said(UniqueFd memory) : memory_(std::move(memory)) {
  const std::string text = text_in(memory_.get());
  // Behind the last whole line.
  used_ = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
}

Said::Left Said::read(int memory) {
  const std::string text = text_in(memory);
  Lines lines = lines_of(text);
  Left left;
  for (auto& [number, context] : lines.contexts) left.contexts.emplace(number, std::move(context.first));
  for (auto& [announced, line] : lines.announcements) left.announcements.push_back(std::move(announced));
  for (const auto& [pid, line] : lines.commands) left.commands.push_back(pid);
  return left;
}

void Said::numbered(std::uint32_t number, const Context* context) noexcept try {
  if (context == nullptr) return append(fmt::format("f {}\n", number));
  const std::int64_t owner = context->owner_uid ? static_cast<std::int64_t>(*context->owner_uid) : -1;
  append(fmt::format("c {} {} {}", number, owner, to_line(LabelRequest{0, *context})));
} catch (...) {
  // Out of memory: the labels end with the service.
}

void Said::announced(const Announcement& announcement, const Caller& caller) noexcept try {
  const std::uint64_t now_ns = boot_time_ns();
  const auto expires_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(announcement.expires_after).count());
  append(fmt::format("a {} {} {} {} {}", caller.uid, caller.pid, now_ns, now_ns + expires_ns,
                     to_line(AnnounceRequest{announcement})));
} catch (...) {
  // Likewise.
}

void Said::command(pid_t pid) noexcept try { append(fmt::format("t {} {}\n", pid, boot_time_ns())); } catch (...) {
  // Likewise.
}

void Said::append(std::string line) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (used_ + line.size() > std::min(least_to_move_, kMostBytes)) make_room();
  } catch (...) {
    // It goes on in what there is.
  }
  if (used_ + line.size() > 2 * kMostBytes) return;
  if (::pwrite(memory_.get(), line.data(), line.size(), static_cast<off_t>(used_)) == static_cast<ssize_t>(line.size()))
    used_ += line.size();
}

/// Moves what holds into new memory.
void Said::make_room() {
  const std::string text = text_in(memory_.get());
  Lines lines = lines_of(std::string_view(text).substr(0, used_));
  std::size_t bytes = 0;
  for (const auto& [announced, line] : lines.announcements) bytes += line.size() + 1;
  for (; bytes > kMostBytes / 2; lines.announcements.pop_front())
    bytes -= lines.announcements.front().second.size() + 1;
  std::string kept;
  const auto keep = [&kept](std::string_view line) { kept.append(line).push_back('\n'); };
  for (const auto& [number, context] : lines.contexts) keep(context.second);
  for (const auto& [pid, line] : lines.commands) keep(line);
  for (const auto& [announced, line] : lines.announcements) keep(line);
  UniqueFd memory = memory_for_lines();
  if (::pwrite(memory.get(), kept.data(), kept.size(), 0) != static_cast<ssize_t>(kept.size())) return;
  if (moved_) moved_(memory.get());
  memory_ = std::move(memory);
  used_ = kept.size();
  least_to_move_ = std::max<std::size_t>(1u << 20, 2 * used_);
}

}  // namespace tracer::internal
