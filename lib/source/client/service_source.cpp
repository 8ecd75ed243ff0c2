// SPDX-License-Identifier: Apache-2.0
#include "source/client/service_source.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <tracer/source.hpp>

#include "base/clock.hpp"
#include "base/counter.hpp"
#include "base/held_commands.hpp"
#include "base/proc_stat.hpp"
#include "base/unique_fd.hpp"
#include "source/client/desk.hpp"
#include "source/client/stream.hpp"
#include "source/proc/cgroup_files.hpp"

namespace tracer::internal {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{5000};
/// How long the end waits for what has happened before it.
constexpr milliseconds kLongestEnd{2000};

void require_named(const Filter::Rule& rule) {
  if (rule.subject == Filter::Subject::kTree && !read_proc_stat(static_cast<pid_t>(rule.number)))
    throw Error({ErrorCode::kFilterNamesNothing,
                 ESRCH,
                 fmt::format("no process {} lives", rule.number),
                 "name a living process, by its pid in this pid namespace",
                 {}});
  if (rule.subject == Filter::Subject::kCgroup && !find_cgroup(rule.text))
    throw Error({ErrorCode::kFilterNamesNothing,
                 ENOENT,
                 fmt::format("there is no cgroup {}", rule.text),
                 "name one as in /proc/PID/cgroup, or as a folder",
                 {}});
}

class ServiceSource final : public Source {
 public:
  explicit ServiceSource(ServiceSourceOptions options)
      : options_(checked(std::move(options))),
        desk_(options_.socket, options_.families),
        stream_(options_.socket),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_)
      throw Error(
          {ErrorCode::kNoMemory, errno, "can't make a descriptor to wait on", "raise the limit of open files", {}});
  }

  Tier tier() const noexcept override { return Tier::kService; }
  /// The session is the caller's own, not the service's.
  HostInfo host() const override {
    HostInfo host = desk_.hello().host;
    host.session_id.clear();
    return host;
  }
  int fd() const noexcept override { return epoll_.get(); }
  /// For a connection that is to be made again, or that the other end has forgotten.
  milliseconds poll_period() const noexcept override { return milliseconds(100); }
  /// What an earlier service sends is not known.
  bool wants_findings() const noexcept override { return !desk_.hello().findings; }
  void leave_findings() noexcept override { leaves_findings_ = true; }
  bool is_filtered() const noexcept override { return !options_.filter.rules().empty(); }
  Desk* desk() noexcept override { return &desk_; }
  std::vector<FamilyState> families() const override { return desk_.families(); }
  bool finished() const noexcept override { return stopped_; }
  bool says_losses() const noexcept override { return true; }

  void start(Feed& feed) override {
    label_trees();
    open_stream({});
    const auto until = Clock::now() + 2 * kLongestAnswer;
    Event event;
    for (auto step = ServiceStream::Step::kNothing; step != ServiceStream::Step::kOpened;) {
      step = stream_.next(event);
      if (step == ServiceStream::Step::kCut) throw Error(stream_.problem());
      if (step != ServiceStream::Step::kNothing) continue;
      if (Clock::now() >= until) refuse_silent(options_.socket, "does not answer", ETIMEDOUT);
      pollfd ready{stream_.fd(), POLLIN, 0};
      ::poll(&ready, 1, 50);
    }
    opened(feed);
    watch();
  }

  bool drain(Feed& feed, const DrainLimit& limit) override {
    const auto until = Clock::now() + limit.time;
    if (!stream_.is_open() && !connect_again()) return ends_in_a_gap(feed);
    Event event;
    for (std::size_t count = 0; count < limit.records && Clock::now() < until; ++count) {
      switch (stream_.next(event)) {
        case ServiceStream::Step::kEvent: take(std::move(event), feed); break;
        case ServiceStream::Step::kOpened: opened(feed); break;
        case ServiceStream::Step::kNothing: return waits_for_the_end(feed);
        case ServiceStream::Step::kCut:
          // A service that has lost its memory does not know these numbers.
          if (stream_.problem().code == ErrorCode::kInvalidArgument) resumes_ = false;
          cut();
          return stopped_;
      }
    }
    return true;
  }

  void settle(milliseconds) override { flush(); }
  /// False: the service does not answer.
  bool flush() {
    try {
      const std::uint64_t stream = stream_id();
      const std::uint64_t sequence = desk_.flush(stream);
      const std::lock_guard lock(position_mutex_);
      // Of another session than the stream's, as it was restarted: there is nothing to wait for.
      const bool counts_alike = desk_.hello().session_id == session_id_ && stream == stream_id_;
      if (counts_alike) end_position_ = std::max(end_position_, base_ + sequence);
      return true;
    } catch (const Error&) {
      // What the stream still brings is all that can be known.
      return false;
    }
  }
  std::uint64_t end_position() const noexcept override {
    const std::lock_guard lock(position_mutex_);
    return std::max(end_position_, position_);
  }
  std::uint64_t position() const noexcept override {
    const std::lock_guard lock(position_mutex_);
    return position_;
  }

  void stop() override {
    if (flush()) desk_.untrack();
    next_try_ = {};
    end_until_ = Clock::now() + kLongestEnd;
    stopped_ = true;
  }

  Counters counters() const override {
    Counters counters;
    const std::lock_guard lock(losses_mutex_);
    counters.losses = losses_;
    return counters;
  }

 private:
  static ServiceSourceOptions checked(ServiceSourceOptions options) {
    for (const Filter::Rule& rule : options.filter.rules()) require_named(rule);
    return options;
  }

  /// Before the stream begins, so that what lives comes with its labels.
  void label_trees() {
    const HelloReply hello = desk_.hello();
    for (const Filter::Rule& rule : options_.filter.rules()) {
      if (!rule.include) continue;
      if (rule.subject == Filter::Subject::kTree) {
        const auto pid = static_cast<pid_t>(rule.number);
        struct stat owner {};
        // Of another's, the service decides: nothing would be seen of it else, and nobody would know why.
        const bool own =
            hello.sees_all || (::stat(fmt::format("/proc/{}", pid).c_str(), &owner) == 0 && owner.st_uid == hello.uid);
        const TrackAs as{pid == options_.command_pid, is_held_command(pid)};
        if (as || rule.context != Context{} || !own) desk_.track(pid, rule.context, as);
      } else if (rule.subject == Filter::Subject::kCgroup && rule.context != Context{}) {
        desk_.announce({InCgroup{path_in_hierarchy(rule.text)}, rule.context}, this_caller());
      }
    }
  }

  std::uint64_t stream_id() const {
    const std::lock_guard lock(position_mutex_);
    return stream_id_;
  }

  /// Also with the trees that were tracked since. Without rules: everything is to come, as a request can't have such a
  /// filter, and whoever reads the source filters.
  Filter filter_to_send() {
    Filter filter = options_.filter;
    named_trees_.clear();
    for (const Filter::Rule& rule : options_.filter.rules())
      if (rule.include && rule.subject == Filter::Subject::kTree) named_trees_.insert(static_cast<pid_t>(rule.number));
    if (includes())
      for (const pid_t pid : desk_.tracked())
        if (named_trees_.insert(pid).second) filter.include_tree(pid);
    return fits_request(filter) ? filter : Filter();
  }
  bool includes() const {
    const auto& rules = options_.filter.rules();
    return std::any_of(rules.begin(), rules.end(), [](const Filter::Rule& rule) { return rule.include; });
  }

  void open_stream(std::optional<ServiceStream::Resume> resume) { stream_.open(filter_to_send(), std::move(resume)); }

  void watch() {
    epoll_event interest{};
    interest.events = EPOLLIN;
    // A descriptor that is closed leaves it by itself.
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stream_.fd(), &interest) != 0)
      throw Error({ErrorCode::kNoMemory, errno, "can't wait for the service", "raise the limit of open files", {}});
  }

  void opened(Feed& feed) {
    const ServiceStream::Opened& opened = stream_.opened();
    const bool first = session_id_.empty();
    {
      const std::lock_guard lock(position_mutex_);
      if (opened.session_id != session_id_ || opened.stream != stream_id_) {
        // Its numbers begin again; what somebody waits for of the earlier ones does not come any more.
        base_ = std::max(position_, end_position_) + opened.living + 1 - opened.sequence;
        session_id_ = opened.session_id;
        stream_id_ = opened.stream;
      }
      note_position();
      // What lives belongs to the beginning.
      end_position_ = std::max(end_position_, position_ + opened.living);
    }
    pause_ = kFirstPause;
    desk_.use_stream(includes() ? opened.stream : 0, named_trees_);
    if (first) return;
    // How many events of a service that ended nobody has seen is not known.
    if (opened.missed != 0 || !opened.resumed) say_gap(opened.resumed ? opened.missed : 1, feed);
    cut_ns_ = 0;
    desk_.meet(opened.session_id);
  }

  /// With the lock.
  void note_position() noexcept { position_ = base_ + stream_.sequence() - 1 - stream_.living_left(); }

  void take(Event event, Feed& feed) {
    {
      const std::lock_guard lock(position_mutex_);
      note_position();
    }
    last_ns_ = std::max(last_ns_, event.time_ns());
    // The service's end is not this session's.
    if (event.kind() == EventKind::kSessionEnd) return;
    if (event.kind() == EventKind::kFinding && leaves_findings_) return;
    if (const auto* loss = event.get_if<Loss>()) count(loss->cause, loss->count);
    feed.event(std::move(event));
  }

  void count(const std::string& cause, std::uint64_t count) {
    const std::lock_guard lock(losses_mutex_);
    losses_[cause] += count;
  }

  void say_gap(std::uint64_t missing, Feed& feed) {
    Loss loss;
    loss.time_ns = boot_time_ns();
    loss.cause = "service_gap";
    loss.count = missing;
    loss.first_ns = cut_ns_;
    loss.last_ns = loss.time_ns;
    count(loss.cause, missing);
    feed.event(std::move(loss));
  }

  void cut() {
    if (cut_ns_ == 0) cut_ns_ = std::max(last_ns_, std::uint64_t{1});
    next_try_ = Clock::now() + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }

  /// False: not now.
  bool connect_again() {
    if (Clock::now() < next_try_) return false;
    try {
      open_stream(resumes_ ? std::optional(ServiceStream::Resume{session_id_, stream_.sequence(), stream_id_})
                           : std::nullopt);
      resumes_ = true;
      watch();
      return true;
    } catch (const Error&) {
      stream_.close();
      cut();
      return false;
    }
  }

  /// Nobody comes back to read what was missed.
  bool ends_in_a_gap(Feed& feed) {
    if (stopped_ && std::exchange(cut_ns_, 0) != 0) say_gap(1, feed);
    return false;
  }

  /// Once stopped: whether more of what happened before is to come, after waiting for it for a moment.
  bool waits_for_the_end(Feed& feed) {
    if (!stopped_) return false;
    const bool has_all = cut_ns_ == 0 && position() >= end_position();
    if (has_all || Clock::now() >= end_until_) {
      if (!has_all && cut_ns_ == 0) cut_ns_ = std::max(last_ns_, std::uint64_t{1});
      return ends_in_a_gap(feed);
    }
    pollfd ready{stream_.fd(), POLLIN, 0};
    ::poll(&ready, 1, 10);
    return true;
  }

  const ServiceSourceOptions options_;
  bool leaves_findings_ = false;
  ServiceDesk desk_;
  ServiceStream stream_;
  UniqueFd epoll_;
  Clock::time_point next_try_ = {};
  milliseconds pause_ = kFirstPause;
  std::uint64_t last_ns_ = 0;
  bool resumes_ = true;       ///< When it connects again.
  std::uint64_t cut_ns_ = 0;  ///< Time of the last event before the connection was cut; 0: it is not.

  std::set<pid_t> named_trees_;  ///< Of the filter that was sent last.

  mutable std::mutex position_mutex_;  ///< Guards the next five.
  std::string session_id_;             ///< That the stream comes from.
  std::uint64_t stream_id_ = 0;        ///< See ServiceStream::Opened.
  std::uint64_t base_ = 0;             ///< The position of an event is this and its number, modulo 2^64.
  std::uint64_t position_ = 0;
  std::uint64_t end_position_ = 0;

  mutable std::mutex losses_mutex_;
  std::map<std::string, std::uint64_t> losses_;
  std::atomic<bool> stopped_{false};
  Clock::time_point end_until_ = {};
};

}  // namespace

std::unique_ptr<Source> service_source(ServiceSourceOptions options) {
  return std::make_unique<ServiceSource>(std::move(options));
}

}  // namespace tracer::internal

namespace tracer {

Source connect(const std::filesystem::path& socket, const Filter& filter) {
  if (!internal::fits_request(filter))
    throw Error({ErrorCode::kInvalidArgument,
                 0,
                 "a service can't be asked for such a filter",
                 fmt::format("give at most {} rules, with globs of 1 to {} bytes of UTF-8", internal::kMostFilterRules,
                             internal::kMostGlobBytes),
                 {}});
  return Source(internal::service_source({.socket = socket, .filter = filter}));
}

}  // namespace tracer
