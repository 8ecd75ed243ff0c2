// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <tracer/report.hpp>

#include "base/clock.hpp"
#include "insight/recorded_events.hpp"
#include "report/meet_living.hpp"
#include "report/report_sums.hpp"
#include "session/session_access.hpp"
#include "event_handle.hpp"
#include "host_fields.hpp"
#include "recording_handle.hpp"
#include "session_state.hpp"

using namespace tracer;
using namespace tracer::c;

namespace tracer::c {

/// What a session's callback shares with the handle.
struct Adding {
  std::mutex mutex;
  Summary summary;
  RecordingDamage damage = {};              ///< Of the recordings that were read.
  std::optional<SessionFigures> last = {};  ///< Of the session's end.
  std::optional<HourlyPrice> price = {};
};

}  // namespace tracer::c

struct tracer_summary {
  Owner owner = {};
  std::shared_ptr<Adding> adding = std::make_shared<Adding>();
  bool follows = false;
  std::weak_ptr<SessionState> session = {};  ///< Which it does not keep.
  std::uint64_t begin_ns = 0;                ///< When it began to follow it.
  Subscription subscription = {};
};

namespace {

constexpr std::chrono::milliseconds kLongestFlush{1000};

Adding& given_by_hand(tracer_summary* summary) {
  tracer_summary& own = need_own(summary, "summary");
  if (own.follows)
    throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "this summary follows a session",
                  "make one with tracer_summary_new()"};
  return *own.adding;
}

SessionFigures figures_of(const Session& session, std::uint64_t begin_ns) {
  return {.totals = session.totals(),
          .statistics = session.statistics(),
          .families = session.families(),
          .elapsed_ns = internal::boot_time_ns() - begin_ns,
          .lived_before = true,
          .tier = session.tier(),
          .start_cpu_ns = internal::SessionAccess::start_cpu_ns(session)};
}

}  // namespace

tracer_status tracer_summary_new(tracer_summary** out, tracer_error* error) {
  return guard_make(out, error, [] { return new tracer_summary(); });
}

tracer_status tracer_session_summarize(tracer_session* session, tracer_summary** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    const auto state = need_own(session, "session").state;
    auto made = std::make_unique<tracer_summary>();
    made->follows = true;
    made->session = state;
    made->begin_ns = internal::boot_time_ns();
    // A callback may have freed the session: then the events alone have to do.
    made->subscription = state->running().subscribe(
        std::nullopt, [session = made->session, kept = made->adding, begin_ns = made->begin_ns](const Event& event) {
          std::optional<SessionFigures> last;
          const auto source = event.kind() == EventKind::kSessionEnd ? session.lock() : nullptr;
          if (source) last = figures_of(source->session(), begin_ns);
          const std::lock_guard lock(kept->mutex);
          kept->summary.add(event);
          if (last) kept->last = std::move(last);
        });
    return made.release();
  });
}

tracer_status tracer_summary_add(tracer_summary* summary, const tracer_event* event, tracer_error* error) {
  return guard(error, [&] {
    Adding& adding = given_by_hand(summary);
    const Event& added = event_of(need(event, "event"));
    const std::lock_guard lock(adding.mutex);
    adding.summary.add(added);
  });
}

tracer_status tracer_summary_read(tracer_summary* summary, tracer_recording* recording, tracer_error* error) {
  return guard(error, [&] {
    Adding& adding = given_by_hand(summary);
    RecordingReader& reader = need(recording, "recording").reader;
    const std::lock_guard lock(adding.mutex);
    internal::RecordedEvents events(reader);
    while (const auto event = events.next()) adding.summary.add(*event);
    internal::add_damage(adding.damage, reader.damage());
  });
}

tracer_status tracer_summary_use_price(tracer_summary* summary, tracer_string file, tracer_error* error) {
  return guard(error, [&] {
    Adding& adding = *need_own(summary, "summary").adding;
    HourlyPrice price = read_price(std::filesystem::path(path_of(file)));
    const std::lock_guard lock(adding.mutex);
    adding.price = std::move(price);
  });
}

tracer_status tracer_report_json(const tracer_summary* summary, tracer_text** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    const tracer_summary& own = need_own(summary, "summary");
    SessionFigures figures;
    const auto state = own.session.lock();
    if (state) {
      Session& session = state->session();
      // Taken before the events are: what was lost meanwhile is not to be hidden.
      figures = figures_of(session, own.begin_ns);
      if (!session.in_callback()) session.flush(kLongestFlush);
    }
    const std::lock_guard lock(own.adding->mutex);
    const Summary& summed = own.adding->summary;
    if (own.adding->last) {
      figures = *own.adding->last;
    } else if (state) {
      internal::meet_living(figures, summed.exits(), [&] { return figures_of(state->session(), own.begin_ns); });
    }
    figures.damage = own.adding->damage;
    Report report = make_report(summed, figures);
    report.price = own.adding->price;
    return new tracer_text{to_json(report)};
  });
}

void tracer_summary_free(tracer_summary* summary) { free_own(summary); }
