// SPDX-License-Identifier: Apache-2.0
/// What every source of events owes a session. A World has one, and processes that it is to see:
///
///   static constexpr tracer::Tier kTier;
///   static constexpr bool kLive;        // Processes begin while the session runs; else it reads what was before.
///   static constexpr bool kKnowsLiving; // Who subscribes late can be told what lives.
///   static constexpr bool kNames;       // A filter must name what is there.
///   static constexpr bool kLabels;      // Its processes get the labels that callers give them.
///   std::unique_ptr<tracer::Session> open(tracer::SessionOptions options);  // Not started; with the filter of them.
///   pid_t root();                       // Whose descendants the others are, but for those outside.
///   pid_t begin(bool outside = false);  // A process that waits.
///   void end(pid_t pid);                // It exits with the status 3.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/session.hpp>

namespace conformance {

inline constexpr std::chrono::seconds kPatience{20};
inline constexpr int kStatus = 3;

inline tracer::SessionOptions options_with(tracer::Filter filter) {
  tracer::SessionOptions options;
  options.filter = std::move(filter);
  options.families.clear();
  options.findings = false;
  return options;
}

/// All events of a session.
class Heard {
 public:
  explicit Heard(tracer::Session& session, bool living_first = false)
      : subscription_(session.on_any([this](const tracer::Event& event) { events.push_back(event); },
                                     {.living_first = living_first})) {}

  template <class E>
  std::size_t place(pid_t pid) const {
    const auto is_it = [pid](const tracer::Event& event) {
      const E* body = event.get_if<E>();
      return body != nullptr && body->process->pid == static_cast<std::uint32_t>(pid);
    };
    return static_cast<std::size_t>(std::find_if(events.begin(), events.end(), is_it) - events.begin());
  }
  template <class E>
  std::vector<E> of(pid_t pid) const {
    std::vector<E> found;
    for (const tracer::Event& event : events)
      if (const E* body = event.get_if<E>(); body != nullptr && body->process->pid == static_cast<std::uint32_t>(pid))
        found.push_back(*body);
    return found;
  }
  std::size_t count(tracer::EventKind kind) const {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(),
                                                  [kind](const tracer::Event& event) { return event.kind() == kind; }));
  }

  std::vector<tracer::Event> events;

 private:
  tracer::Subscription subscription_;
};

struct Work {
  pid_t inside = 0;
  pid_t outside = 0;
};

/// `session`: null: nobody looks meanwhile.
template <class World>
Work work(World& world, tracer::Session* session) {
  Work work{world.begin(), world.begin(true)};
  // A source that only looks from time to time has seen them then.
  if (session != nullptr) CHECK(session->flush(kPatience));
  world.end(work.inside);
  world.end(work.outside);
  if (session != nullptr) CHECK(session->flush(kPatience));
  return work;
}

template <class World>
void tells_a_story() {
  World world;
  const pid_t lived = world.begin();
  Work did;
  if constexpr (!World::kLive) did = work(world, nullptr);
  tracer::SessionOptions options = options_with(tracer::Filter().include_tree(world.root()));
  options.reader = tracer::ReaderMode::kPoll;
  const auto session = world.open(std::move(options));
  CHECK(session->tier() == World::kTier);
  CHECK(session->fd() >= 0);
  Heard heard(*session);
  CHECK(heard.events.empty());
  session->start();
  if constexpr (World::kLive) {
    did = work(world, session.get());
    CHECK_FALSE(session->finished());
  } else {
    CHECK(session->flush(kPatience));
  }

  const auto starts = heard.of<tracer::ProcessStart>(did.inside);
  const auto exits = heard.of<tracer::ProcessExit>(did.inside);
  REQUIRE(starts.size() == 1);
  REQUIRE(exits.size() == 1);
  CHECK(heard.place<tracer::ProcessStart>(lived) < heard.place<tracer::ProcessStart>(did.inside));
  CHECK(heard.place<tracer::ProcessStart>(did.inside) < heard.place<tracer::ProcessExit>(did.inside));
  CHECK(heard.of<tracer::ProcessExit>(lived).empty());
  CHECK(starts[0].process->start_ns == exits[0].process->start_ns);
  CHECK(exits[0].process->parent_pid == static_cast<std::uint32_t>(world.root()));
  // Unknown is absent.
  if (exits[0].exit_code) CHECK(*exits[0].exit_code == kStatus);
  CHECK_FALSE(exits[0].exit_signal.has_value());
  CHECK(heard.of<tracer::ProcessStart>(did.outside).empty());
  CHECK(heard.of<tracer::ProcessExit>(did.outside).empty());
  CHECK(session->statistics().losses.empty());

  session->stop();
  CHECK(session->finished());
  CHECK(heard.count(tracer::EventKind::kSessionEnd) == 1);
  CHECK(heard.events.back().kind() == tracer::EventKind::kSessionEnd);
  const std::size_t all = heard.events.size();
  world.end(lived);
  session->stop();
  CHECK(session->flush(kPatience));
  CHECK(session->poll(std::chrono::milliseconds(0)) == 0);
  CHECK(heard.events.size() == all);
}

template <class World>
void delivers_nothing_that_is_not_wanted() {
  World world;
  {
    // Never started.
    const auto session = world.open(options_with(tracer::Filter()));
    const Heard heard(*session);
    session->stop();
    CHECK(heard.events.empty());
  }
  const auto session = world.open(options_with(tracer::Filter().include_tree(world.root())));
  const Heard heard(*session);
  session->request_stop();
  session->start();
  session->stop();
  CHECK(session->finished());
  CHECK(heard.events.empty());
}

template <class World>
void tells_late_subscribers_what_lives() {
  World world;
  const pid_t lived = world.begin();
  tracer::SessionOptions options = options_with(tracer::Filter().include_tree(world.root()));
  options.reader = tracer::ReaderMode::kPoll;
  const auto session = world.open(std::move(options));
  session->start();
  const Work did = work(world, session.get());
  Heard late(*session, World::kKnowsLiving);
  CHECK(session->flush(kPatience));
  CHECK(late.of<tracer::ProcessStart>(lived).size() == (World::kKnowsLiving ? 1 : 0));
  CHECK(late.of<tracer::ProcessStart>(did.inside).empty());
  CHECK(late.of<tracer::ProcessExit>(did.inside).empty());
  world.end(lived);
  CHECK(session->flush(kPatience));
  CHECK(late.of<tracer::ProcessExit>(lived).size() == 1);
  session->stop();
}

template <class World>
void answers_what_lives() {
  World world;
  const pid_t lived = world.begin();
  tracer::SessionOptions options = options_with(tracer::Filter().include_tree(world.root()));
  options.reader = tracer::ReaderMode::kPoll;
  options.families = {tracer::Family::kWaits};
  const auto session = world.open(std::move(options));
  const Heard heard(*session);
  session->start();
  const Work did = work(world, session.get());
  CHECK(session->flush(kPatience));

  const auto living = session->living();
  const auto count_of = [&living](pid_t pid) {
    return std::count_if(living.begin(), living.end(), [pid](const tracer::ProcessSample& sample) {
      return sample.process->pid == static_cast<std::uint32_t>(pid);
    });
  };
  CHECK(count_of(lived) == (World::kKnowsLiving ? 1 : 0));
  CHECK(count_of(did.inside) == 0);
  CHECK(count_of(did.outside) == 0);
  for (const tracer::ProcessSample& sample : living)
    if (sample.process->pid == static_cast<std::uint32_t>(lived))
      CHECK(sample.process->start_ns == heard.of<tracer::ProcessStart>(lived).at(0).process->start_ns);

  std::uint64_t ended = 0;
  std::uint64_t live = 0;
  for (const tracer::ContextTotals& totals : session->totals()) {
    ended += totals.ended;
    live += totals.living;
  }
  CHECK(ended == (World::kKnowsLiving ? 1u : 0u));
  CHECK((live != 0) == World::kKnowsLiving);

  // One that is missing says why.
  const auto families = session->families();
  const auto asked = std::find_if(families.begin(), families.end(), [](const tracer::FamilyState& state) {
    return state.family == tracer::Family::kWaits;
  });
  CHECK((asked != families.end()) == World::kKnowsLiving);
  for (const tracer::FamilyState& state : families) CHECK((state.active || state.problem.has_value()));
  session->stop();
  CHECK(session->living().empty());
}

template <class World>
void takes_what_callers_say() {
  World world;
  const pid_t lived = world.begin();
  tracer::SessionOptions options = options_with(tracer::Filter().include_tree(world.root()));
  options.reader = tracer::ReaderMode::kPoll;
  const auto session = world.open(std::move(options));
  const Heard heard(*session);
  tracer::Context context;
  context.task = "conformance";
  const auto say = [&] {
    {
      tracer::ThreadLabel label = session->label_thread(context);
      label.resume();
      session->unlabel_thread();
    }
    session->announce({tracer::OfProcess{world.root()}, context});
    session->track(world.root(), context);
  };
  session->start();
  say();
  CHECK(session->flush(kPatience));
  if constexpr (World::kLive) {
    world.end(lived);
    CHECK(session->flush(kPatience));
    const auto exits = heard.of<tracer::ProcessExit>(lived);
    REQUIRE(exits.size() == 1);
    if (World::kLabels) CHECK(exits[0].process->context->task == "conformance");
  }
  session->stop();
  // Nobody is left to take it.
  const std::size_t all = heard.events.size();
  say();
  CHECK(session->flush(kPatience));
  CHECK(heard.events.size() == all);
}

template <class World>
void refuses_what_is_not_there() {
  World world;
  const pid_t gone = world.begin();
  world.end(gone);
  const auto code_of = [&world](tracer::Filter filter) {
    try {
      world.open(options_with(std::move(filter)))->start();
    } catch (const tracer::Error& error) {
      return error.code();
    }
    return tracer::ErrorCode{};
  };
  const auto wanted = World::kNames ? tracer::ErrorCode::kFilterNamesNothing : tracer::ErrorCode{};
  CHECK(code_of(tracer::Filter().include_tree(gone)) == wanted);
  CHECK(code_of(tracer::Filter().include_cgroup("/there/is/none")) == wanted);
  CHECK(code_of(tracer::Filter().include_tree(world.root())) == tracer::ErrorCode{});
}

}  // namespace conformance
