// SPDX-License-Identifier: Apache-2.0
#include "service/recorded_series.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/clock.hpp"
#include "serve/past_files.hpp"
#include "show/printable.hpp"
#include "stream/recording_of_owner.hpp"
#include "stream/recording_tail.hpp"
#include "terminal/say.hpp"

namespace tracerd {
namespace {

constexpr auto kTryAgain = std::chrono::seconds(60);
/// For an outbox: what has ended is in it within a minute, with what the next look and the disk take.
constexpr auto kWithTasks = std::chrono::seconds(57);
constexpr auto kWithoutTasks = std::chrono::seconds(900);
/// After so long, what a sink got is in its file, or it has a problem.
constexpr std::uint64_t kLongestUnwritten_ns = 10'000'000'000;

using tracer::EventKind;

/// What lives, and what waits, as a file begins with.
bool is_beginning(const tracer::Event& event) {
  return event.kind() == EventKind::kProcessStart || event.kind() == EventKind::kRunStart ||
         event.kind() == EventKind::kTaskStart || event.kind() == EventKind::kTaskSubmit;
}

bool says_where_it_ends(const std::vector<tracer::Event>& last) {
  return !std::all_of(last.begin(), last.end(), is_beginning);
}

}  // namespace

/// Notes what a file gets.
class RecordedSeries::Notes final : public tracer::Sink {
 public:
  Notes(std::unique_ptr<tracer::Sink> sink, std::shared_ptr<Noted> noted, Place place)
      : sink_(std::move(sink)), noted_(std::move(noted)), place_(std::move(place)) {}

  void write(std::span<const tracer::Event> events) noexcept override {
    for (const tracer::Event& event : events) note(event);
    if (own_ && !noted_->own) noted_->own = true;
    noted_->task = tasks_ > 0;
    sink_->write(events);
    seal_full();
  }
  void flush() noexcept override {
    sink_->flush();
    seal_full();
  }
  std::chrono::milliseconds flush_period() const noexcept override { return sink_->flush_period(); }
  std::optional<tracer::Problem> problem() const override { return sink_->problem(); }

 private:
  void note(const tracer::Event& event) {
    own_ = own_ || is_own(event);
    if (event.kind() == EventKind::kTaskStart) ++tasks_;
    if (event.kind() == EventKind::kTaskFinish) --tasks_;
    if (event.kind() == EventKind::kTaskFinish || event.kind() == EventKind::kRunFinish) noted_->end = true;
  }
  static bool is_own(const tracer::Event& event) {
    return !is_beginning(event) && event.kind() != EventKind::kSnapshotEnd && event.kind() != EventKind::kSessionEnd &&
           event.kind() != EventKind::kLoss;
  }
  /// The file was left meanwhile: only now it has all that it gets.
  void seal_full() {
    if (noted_->full.exchange(false)) place_.rotation->seal(place_.which, false);
  }

  const std::unique_ptr<tracer::Sink> sink_;
  const std::shared_ptr<Noted> noted_;
  const Place place_;
  bool own_ = false;
  std::int64_t tasks_ = 0;  ///< That live.
};

RecordedSeries::RecordedSeries(const ServeConfig::Recordings& options, Place place, const tracer::Session& session,
                               tracer::internal::Server& server)
    : options_(options),
      place_(std::move(place)),
      session_(session),
      server_(server),
      whole_until_ns_(tracer::internal::boot_time_ns()) {}

void RecordedSeries::start(std::optional<std::span<const tracer::Event>> left) {
  for (std::uint32_t number = 0; position_->number == 0 && number <= options_.files; ++number)
    *position_ =
        tracer::internal::last_place(tracer::internal::name_of_past(place_.file, number), session_.host().session_id);
  begin_anew_with(left ? rest_of(*left) : std::vector<tracer::Event>());
}

void RecordedSeries::end() {
  if (sink_) sink_->close();
  sink_.reset();
  place_.rotation->seal(place_.which, true);
}

std::uint64_t RecordedSeries::dropped() const { return dropped_ + (sink_ ? sink_->dropped() : 0); }

/// The newest files may have no whole frame of events, or only say what lived when they began: those before them say
/// where they end.
std::vector<tracer::Event> RecordedSeries::rest_of(std::span<const tracer::Event> left) const {
  std::vector<tracer::Event> events(left.begin(), left.end());
  std::vector<tracer::Event> last;
  for (std::uint32_t number = 0; !says_where_it_ends(last) && number <= options_.files; ++number) {
    const auto of_file = tracer::internal::last_events(tracer::internal::name_of_past(place_.file, number));
    last.insert(last.end(), of_file.begin(), of_file.end());
  }
  if (last.empty()) return events;
  if (const auto behind = tracer::internal::find_behind(events, last)) {
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(*behind));
    return events;
  }
  tracer::Loss loss;
  for (const tracer::Event& event : last) loss.time_ns = std::max(loss.time_ns, event.time_ns());
  loss.cause = "service_gap";
  loss.count = 1;
  loss.first_ns = loss.last_ns = loss.time_ns;
  say("tracerd: {}: how many events it lacks is not known\n", tracer::internal::printable(place_.file));
  // All of them are later, or nobody knows which of them it has.
  const auto is_newer = [&](const tracer::Event& event) { return event.time_ns() > loss.time_ns; };
  if (!std::all_of(events.begin(), events.end(), is_newer)) events.clear();
  loss.last_ns = events.empty() ? loss.time_ns : events.front().time_ns();
  events.insert(events.begin(), tracer::Event(std::move(loss)));
  return events;
}

void RecordedSeries::begin_anew_with(std::span<const tracer::Event> first) {
  close();
  place_.rotation->seal(place_.which, true);
  const int fd = place_.rotation->next(place_.which);
  began_ = std::chrono::steady_clock::now();
  if (fd >= 0) return begin(fd, first);
  const int error_number = errno;
  ++failures_;
  lacks_events_ = true;
  try_again_ = began_ + kTryAgain;
  problem_ = tracer::Error({tracer::ErrorCode::kFileUnwritable,
                            error_number,
                            fmt::format("{} can't be made", place_.file),
                            "look at the folder and its disk; the service goes on, and tries again",
                            {}})
                 .what();
  say("tracerd: {}\n", tracer::internal::printable_lines(*problem_));
}

void RecordedSeries::close() {
  if (!sink_) return;
  sink_->close();
  dropped_ += sink_->dropped();
  sink_.reset();
}

void RecordedSeries::begin(int fd, std::span<const tracer::Event> first) {
  problem_.reset();
  noted_ = std::make_shared<Noted>();
  auto sink =
      tracer::internal::recording_sink_of(place_.owner, fd, place_.file, session_.host(),
                                          {.max_bytes = options_.file_bytes,
                                           .next_file =
                                               [rotation = place_.rotation, which = place_.which, noted = noted_] {
                                                 const int next = rotation->next(which);
                                                 noted->full = next >= 0;
                                                 return next;
                                               },
                                           .place = position_});
  if (std::exchange(lacks_events_, false)) {
    const tracer::Event gap = gap_up_to_now();
    sink->write({&gap, 1});
  }
  sink = std::make_unique<Notes>(std::move(sink), noted_, place_);
  sink_ = place_.owner ? server_.add_sink_of(*place_.owner, std::move(sink), first)
                       : server_.add_sink(std::move(sink), first);
}

tracer::Event RecordedSeries::gap_up_to_now() const {
  tracer::Loss loss;
  loss.time_ns = tracer::internal::boot_time_ns();
  loss.cause = "unrecorded";
  // How many they are, nobody has counted.
  loss.count = 1;
  loss.first_ns = whole_until_ns_;
  loss.last_ns = loss.time_ns;
  return loss;
}

bool RecordedSeries::look(std::chrono::steady_clock::time_point now) {
  if (!sink_) return now >= try_again_;
  if (const auto problem = sink_->problem()) {
    ++failures_;
    lacks_events_ = true;
    problem_ = tracer::Error(*problem).what();
    say("tracerd: {}: {}\n", place_.file, tracer::internal::printable_lines(*problem_));
    close();
    try_again_ = now + kTryAgain;
    return false;
  }
  const std::uint64_t now_ns = tracer::internal::boot_time_ns();
  whole_until_ns_ = std::max(whole_until_ns_, now_ns - std::min(now_ns, kLongestUnwritten_ns));
  return now - began_ > longest();
}

/// So that what is kept is hardly older than wanted.
std::chrono::seconds RecordedSeries::longest() const {
  const std::chrono::seconds longest = std::chrono::seconds(options_.max_age) / 4;
  if (!noted_->own) return longest;
  if (options_.seal.count() != 0) return std::min(options_.seal, longest);
  if (options_.outbox.folder.empty()) return longest;
  return std::min<std::chrono::seconds>(noted_->task || noted_->end ? kWithTasks : kWithoutTasks, longest);
}

}  // namespace tracerd
