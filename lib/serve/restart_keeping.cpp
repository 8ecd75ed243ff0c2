// SPDX-License-Identifier: Apache-2.0
#include "serve/restart_keeping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/random.hpp"
#include "session/reader.hpp"
#include "session/session_access.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/kernel/load/restart_kernel.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kMemo = "tracer.memo";
constexpr std::string_view kSpool = "tracer.spool";
constexpr std::string_view kSaid = "tracer.said.";
constexpr std::string_view kKernel = "tracer.kernel.";
constexpr std::string_view kGap = "service_gap";
/// Of the memo's text.
constexpr std::string_view kFirstLine = "tracer-memo 1";
constexpr std::size_t kMostMemoBytes = 256u << 10;

/// What says how the other descriptors belong together. The last one that is stored.
struct Memo {
  std::string boot_id;
  std::string session_id;
  std::uint64_t side = 0;
  std::string form;
  KeptKernel::Prints prints;
  std::set<std::string, std::less<>> names;
};

std::string text_of(const Memo& memo) {
  std::string text = fmt::format("{}\nboot {}\nsession {}\nside {}\nform {}\n", kFirstLine, memo.boot_id,
                                 memo.session_id, memo.side, memo.form);
  for (const auto& [family, print] : memo.prints) text += fmt::format("print {} {}\n", family, print);
  for (const std::string& name : memo.names) text += fmt::format("name {}\n", name);
  return text + "end\n";
}

std::optional<Memo> memo_in(int memory) {
  std::string text(kMostMemoBytes, '\0');
  const ssize_t got = ::pread(memory, text.data(), text.size(), 0);
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine) return std::nullopt;
  Memo memo;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string key;
    std::string value;
    words >> key >> value;
    if (key == "end") return memo;
    if (key == "boot") memo.boot_id = value;
    if (key == "session") memo.session_id = value;
    if (key == "side") memo.side = parse_number<std::uint64_t>(value).value_or(0);
    if (key == "form") memo.form = value;
    if (key == "print") words >> memo.prints[value];
    if (key == "name") memo.names.insert(value);
  }
  return std::nullopt;
}

UniqueFd memory_of(const std::string& text) {
  UniqueFd memory(::memfd_create("tracer-memo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::pwrite(memory.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw Error({ErrorCode::kNoMemory, errno, "can't make memory that outlives the service", {}, {}});
  ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return memory;
}

/// The last time in what was told.
std::uint64_t told_until_ns(const RecentEvents::Left& left) {
  std::uint64_t time_ns = left.living.empty() ? 0 : left.living.rbegin()->first.start_ns;
  for (const RecentEvents::Judged& each : left.events) time_ns = std::max(time_ns, each.event.time_ns());
  return time_ns;
}

std::string kernel_prefix(std::uint64_t side) { return fmt::format("{}{:x}.", kKernel, side); }

}  // namespace

Keeping::Keeping(std::vector<Descriptor> handed, Holder holder) : holder_(std::move(holder)) {
  Handed by_name;
  std::set<std::string> names;
  for (Descriptor& each : handed) {
    names.insert(each.name);
    // Of two with one name, nobody knows which is which.
    if (!by_name.emplace(each.name, std::move(each.fd)).second) by_name[each.name].reset();
  }
  for (const std::string& name : names) stored_[name] = true;
  if (!by_name.empty()) take(std::move(by_name));
  if (!kernel_) {
    kernel_ = std::make_shared<KeptKernel>();
    for (const std::string& name : names) drop(name);
  }
}

Keeping::~Keeping() = default;

void Keeping::take(Handed handed) {
  const auto fd_of = [&handed](std::string_view name) {
    const auto found = handed.find(name);
    return found == handed.end() ? -1 : found->second.get();
  };
  const int memory = fd_of(kMemo);
  const auto memo = memory < 0 ? std::nullopt : memo_in(memory);
  const auto give_up = [this](const std::string& why) {
    gave_up_ = true;
    holder_.log(fmt::format("what an earlier process left can't be used, and tracing begins anew: {}", why));
  };
  if (!memo) return give_up("no memo, or a damaged one");
  if (memo->boot_id != this_host().boot_id) return give_up("it is of another boot");
  for (const std::string& name : memo->names)
    if (fd_of(name) < 0) return give_up(fmt::format("{} is missing", name));
  left_ = RecentEvents::read(fd_of(kSpool));
  if (!left_) return give_up("the recent events are damaged");
  // Where moving was cut short, both are whole.
  for (auto& [name, fd] : handed) {
    if (!name.starts_with(kSaid) || fd.get() < 0) continue;
    const auto number = parse_number<std::uint32_t>(std::string_view(name).substr(kSaid.size()));
    if (!number || *number < said_number_) continue;
    said_number_ = *number;
    left_said_memory_ = std::move(fd);
  }
  if (!left_said_memory_) {
    left_.reset();
    return give_up("what clients have said is missing");
  }
  left_said_ = Said::read(left_said_memory_.get());
  left_spool_ = std::move(handed[std::string(kSpool)]);
  left_side_ = memo->side;
  session_id_ = memo->session_id;
  KeptKernel::Descriptors kernel;
  const std::string prefix = kernel_prefix(memo->side);
  for (auto& [name, fd] : handed)
    if (name.starts_with(prefix) && memo->names.contains(name))
      kernel.emplace(name.substr(prefix.size()), std::move(fd));
  kernel_ = std::make_shared<KeptKernel>(std::move(kernel), memo->prints);
  kernel_->left_form(memo->form);
  kernel_->when_left_ends([this, prefix] {
    std::vector<std::string> names;
    {
      const std::lock_guard lock(stored_mutex_);
      for (const auto& [name, stored] : stored_)
        if (name.starts_with(prefix)) names.push_back(name);
    }
    for (const std::string& name : names) drop(name);
    holder_.wait();
  });
  // Surplus ones, such as of an upgrade that was cut short.
  const std::string said = fmt::format("{}{}", kSaid, said_number_);
  for (const auto& [name, fd] : handed) {
    if (memo->names.contains(name) || name == kMemo || name == said) continue;
    holder_.log(fmt::format("descriptor {} belongs to nothing, and is dropped", name));
    drop(name);
  }
}

void Keeping::drop(const std::string& name) {
  const std::lock_guard lock(stored_mutex_);
  if (stored_.erase(name) != 0) holder_.drop(name);
}

std::string Keeping::name_of_kernel(const std::string& name) const { return kernel_prefix(side_) + name; }

std::unique_ptr<Session> Keeping::open_session(const SessionOptions& options, const UserIds& user_ids) {
  auto session = SessionAccess::of_kernel(options, [this](KernelSourceOptions& kernel) {
    kernel.keep = kernel_;
    kernel.session_id = session_id_;
    if (left_ && left_->position.side == left_side_) kernel.released = left_->position.given;
    if (left_) {
      kernel.told_until_ns = told_until_ns(*left_);
      const auto before = left_->losses.find(std::string(kGap));
      kernel.gaps = left_->missed + (before == left_->losses.end() ? 0 : before->second);
    } else if (gave_up_) {
      kernel.gaps = 1;
    }
    if (!left_said_.contexts.empty()) kernel.last_context = left_said_.contexts.rbegin()->first;
  });
  session_id_ = session->host().session_id;
  side_ = kernel_->continues() ? left_side_ : random_number();
  kernel_->when_dropped([this](const std::string& name) { drop(name_of_kernel(name)); });
  spool_ = left_ ? std::make_unique<RecentEvents>(session->host(), std::move(left_spool_), *left_)
                 : std::make_unique<RecentEvents>(session->host());
  Reader& reader = *SessionAccess::reader(*session);
  // Before anything that was left is charged, or has a key.
  reader.use(user_ids);
  said_ = left_ ? std::make_unique<Said>(std::move(left_said_memory_), reader.accounts())
                : std::make_unique<Said>(reader.accounts());
  said_->when_moved([this](int memory) {
    std::string before;
    std::string now;
    {
      const std::lock_guard lock(stored_mutex_);
      before = fmt::format("{}{}", kSaid, said_number_++);
      now = fmt::format("{}{}", kSaid, said_number_);
      // Before the first store() there is nothing to replace.
      if (stored_.erase(before) == 0) return;
      stored_[now] = true;
    }
    holder_.store(now, memory);
    holder_.drop(before);
  });
  restore(reader);
  return session;
}

void Keeping::restore(Reader& reader) {
  if (left_) {
    for (const auto& [number, context] : left_said_.contexts) reader.contexts().restore(number, context);
    // First, so that what lives finds the tasks that it is in.
    std::size_t refused = 0;
    for (const Said::Announced& each : left_said_.announcements) {
      try {
        Announcement announcement = each.announcement;
        if (each.caller.uid != 0) announcement.context.owner_uid = each.caller.uid;
        reader.announce(announcement, each.caller);
      } catch (const Error&) {
        // Its process or folder is gone.
        ++refused;
      }
    }
    for (const Said::Submitted& each : left_said_.submitted) {
      try {
        reader.submit(each.submission, each.caller, each.earlier);
        if (each.withdrawal) reader.withdraw(*each.withdrawal, each.caller);
      } catch (const Error&) {
        // It makes no sense to this version.
      }
    }
    Reader::Left left;
    left.commands = left_said_.commands;
    left.losses = left_->losses;
    // The kernel counts from here on.
    left.exits = kernel_->continues() ? left_->exits : 0;
    const std::uint64_t now_ns = boot_time_ns();
    // In the order of their beginnings: parents first.
    for (const auto& [id, process] : left_->living)
      left.processes.push_back({process.process, 0, process.exec_ns.value_or(id.start_ns), now_ns});
    reader.go_on(std::move(left));
    holder_.log(fmt::format(
        "goes on with session {}: {} processes, {} announcements ({} of them hold no more), {} submissions, "
        "{} events{}",
        session_id_, left_->living.size(), left_said_.announcements.size(), refused, left_said_.submitted.size(),
        left_->events.size(), kernel_->continues() ? "" : "; with other programs in the kernel"));
  }
  left_said_ = {};
  reader.contexts().when_changed(
      [this](std::uint32_t number, const Context* context) { said_->numbered(number, context); });
}

void Keeping::forget_left() noexcept { left_.reset(); }

void Keeping::store() {
  Memo memo{this_host().boot_id, session_id_, side_, KeptKernel::form_of_now(), kernel_->prints(), {}};
  std::map<std::string, int> wanted;
  for (const auto& [name, fd] : kernel_->descriptors()) wanted.emplace(name_of_kernel(name), fd);
  wanted.emplace(kSpool, spool_->memory());
  for (const auto& [name, fd] : wanted) memo.names.insert(name);
  wanted.emplace(fmt::format("{}{}", kSaid, said_number_), said_->memory());
  const bool goes_on = side_ == left_side_;
  std::vector<std::string> others;
  {
    const std::lock_guard lock(stored_mutex_);
    for (const auto& [name, stored] : stored_)
      if (!wanted.contains(name) && (name != kMemo || !goes_on)) others.push_back(name);
  }
  for (const std::string& name : others) drop(name);
  for (const auto& [name, fd] : wanted) {
    {
      const std::lock_guard lock(stored_mutex_);
      if (!stored_.emplace(name, true).second) continue;
    }
    holder_.store(name, fd);
  }
  if (goes_on) return holder_.wait();
  const UniqueFd text = memory_of(text_of(memo));
  {
    const std::lock_guard lock(stored_mutex_);
    stored_[std::string(kMemo)] = true;
  }
  holder_.store(std::string(kMemo), text.get());
  holder_.wait();
}

void Keeping::end() noexcept {
  std::map<std::string, bool> stored;
  {
    const std::lock_guard lock(stored_mutex_);
    stored.swap(stored_);
  }
  for (const auto& [name, is] : stored) holder_.drop(name);
}

}  // namespace tracer::internal
