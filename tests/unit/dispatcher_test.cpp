// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

const Event kEvent = Loss{1, "test", 1};

void dispatch(Dispatcher& dispatcher, const Event& event = kEvent) { dispatcher.dispatch(event); }

/// What a callback holds: let go of, it asks whether others can use the dispatcher meanwhile, as one does that needs a
/// lock of theirs.
std::shared_ptr<void> asking(Dispatcher& dispatcher, std::atomic<int>& free_then) {
  return {&free_then, [&](void*) {
            auto other = std::async(std::launch::async, [&] {
              const Subscription mine = dispatcher.subscribe(std::nullopt, [](const Event&) {});
            });
            if (other.wait_for(std::chrono::seconds(20)) == std::future_status::ready) ++free_then;
          }};
}

}  // namespace

TEST_CASE("callbacks run in the order of subscribing") {
  Dispatcher dispatcher(nullptr);
  std::string order;
  const Subscription a = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'a'; });
  Subscription b = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'b'; });
  const Subscription c = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'c'; });
  dispatch(dispatcher);
  b.cancel();
  const Subscription d = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'd'; });
  dispatch(dispatcher);
  CHECK(order == "abcacd");
}

TEST_CASE("a callback that subscribes another is not told the same event by it") {
  Dispatcher dispatcher(nullptr);
  int inner = 0;
  std::optional<Subscription> second;
  const Subscription first = dispatcher.subscribe(std::nullopt, [&](const Event&) {
    if (!second) second = dispatcher.subscribe(std::nullopt, [&](const Event&) { ++inner; });
  });
  dispatch(dispatcher);
  CHECK(inner == 0);
  dispatch(dispatcher);
  CHECK(inner == 1);
}

TEST_CASE("a callback may cancel itself") {
  Dispatcher dispatcher(nullptr);
  int calls = 0;
  Subscription subscription;
  subscription = dispatcher.subscribe(std::nullopt, [&](const Event&) {
    ++calls;
    subscription.cancel();
  });
  CHECK(subscription.active());
  dispatch(dispatcher);
  dispatch(dispatcher);
  CHECK(calls == 1);
  CHECK_FALSE(subscription.active());
  subscription.cancel();
}

TEST_CASE("a callback may destroy its own subscription and go on") {
  Dispatcher dispatcher(nullptr);
  auto subscription = std::make_unique<Subscription>();
  std::string after;
  const std::string captured = "a text long enough to be on the heap, so that a sanitizer sees it freed";
  *subscription = dispatcher.subscribe(std::nullopt, [&after, &subscription, captured](const Event&) {
    subscription.reset();
    after = captured;
  });
  dispatch(dispatcher);
  dispatch(dispatcher);
  CHECK(after == captured);
}

TEST_CASE("a callback may cancel the next one before it runs") {
  Dispatcher dispatcher(nullptr);
  int calls = 0;
  Subscription second;
  const Subscription first = dispatcher.subscribe(std::nullopt, [&](const Event&) { second.cancel(); });
  second = dispatcher.subscribe(std::nullopt, [&](const Event&) { ++calls; });
  dispatch(dispatcher);
  CHECK(calls == 0);
}

TEST_CASE("after a subscription is destroyed elsewhere its callback does not run") {
  Dispatcher dispatcher(nullptr);
  std::atomic<bool> done{false};
  std::thread thread([&] {
    while (!done.load()) dispatch(dispatcher);
  });
  int seen = 0;
  for (int round = 0; round < 200; ++round) {
    auto guarded = std::make_unique<int>(0);
    std::atomic<int> calls{0};
    {
      const Subscription subscription =
          dispatcher.subscribe(std::nullopt, [&calls, counter = guarded.get()](const Event&) {
            ++*counter;
            ++calls;
          });
      while (calls.load() == 0) std::this_thread::yield();
    }
    seen += *guarded > 0 ? 1 : 0;  // A race or a use after free, if it still ran.
  }
  done = true;
  thread.join();
  CHECK(seen == 200);
}

TEST_CASE("cancelling waits until the running callback has returned") {
  Dispatcher dispatcher(nullptr);
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};
  std::atomic<bool> returned{false};
  Subscription subscription = dispatcher.subscribe(std::nullopt, [&](const Event&) {
    inside = true;
    while (!go_on.load()) std::this_thread::yield();
    returned = true;
  });
  std::thread thread([&] { dispatch(dispatcher); });
  while (!inside.load()) std::this_thread::yield();
  std::thread release([&] { go_on = true; });
  subscription.cancel();
  CHECK(returned.load());
  release.join();
  thread.join();
}

TEST_CASE("what a callback throws is counted, passed on, and the others still run") {
  std::vector<std::string> errors;
  Dispatcher dispatcher([&](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      errors.emplace_back(e.what());
    } catch (int) {
      errors.emplace_back("int");
    }
  });
  int calls = 0;
  const Subscription a = dispatcher.subscribe(std::nullopt, [](const Event&) { throw std::runtime_error("no"); });
  const Subscription b = dispatcher.subscribe(std::nullopt, [](const Event&) { throw 1; });
  const Subscription c = dispatcher.subscribe(std::nullopt, [&](const Event&) { ++calls; });
  dispatch(dispatcher);
  dispatch(dispatcher);
  CHECK(calls == 2);
  CHECK(dispatcher.callback_errors() == 4);
  CHECK(errors == std::vector<std::string>{"no", "int", "no", "int"});
}

TEST_CASE("an error handler that throws does not stop anything, and is counted") {
  Dispatcher dispatcher([](const std::exception_ptr&) { throw 2; });
  int calls = 0;
  const Subscription a = dispatcher.subscribe(std::nullopt, [](const Event&) { throw 1; });
  const Subscription b = dispatcher.subscribe(std::nullopt, [&](const Event&) { ++calls; });
  dispatch(dispatcher);
  CHECK(calls == 1);
  CHECK(dispatcher.callback_errors() == 2);
}

TEST_CASE("a subscription may outlive its dispatcher") {
  Subscription subscription;
  {
    Dispatcher dispatcher(nullptr);
    subscription = dispatcher.subscribe(std::nullopt, [](const Event&) {});
  }
  CHECK(subscription.active());
  subscription.cancel();
  CHECK_FALSE(subscription.active());
}

TEST_CASE("a subscription that is assigned to cancels what it held") {
  Dispatcher dispatcher(nullptr);
  std::string order;
  Subscription a = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'a'; });
  Subscription b = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'b'; });
  a = std::move(b);
  dispatch(dispatcher);
  CHECK(order == "b");
  Subscription& same = a;
  a = std::move(same);
  CHECK(a.active());
  const Subscription c = std::move(a);
  CHECK(c.active());
  a = Subscription();
  dispatch(dispatcher);
  CHECK(order == "bb");
  CHECK_FALSE(Subscription().active());
}

TEST_CASE("a callback for a kind gets that kind only, in the order of subscribing with those for all") {
  Dispatcher dispatcher(nullptr);
  std::string order;
  const Subscription any = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'a'; });
  const Subscription loss = dispatcher.subscribe(EventKind::kLoss, [&](const Event&) { order += 'l'; });
  const Subscription exits = dispatcher.subscribe(EventKind::kProcessExit, [&](const Event&) { order += 'e'; });
  const Subscription last = dispatcher.subscribe(std::nullopt, [&](const Event&) { order += 'z'; });
  dispatch(dispatcher);
  dispatch(dispatcher, build::exit(1));
  dispatch(dispatcher, build::start(1));
  CHECK(order ==
        "alz"
        "aez"
        "az");
}

TEST_CASE("a callback is let go of when it is canceled, with no lock held") {
  Dispatcher dispatcher(nullptr);
  std::atomic<int> free_then{0};
  Subscription canceled = dispatcher.subscribe(std::nullopt, [held = asking(dispatcher, free_then)](const Event&) {});
  dispatch(dispatcher);
  CHECK(free_then == 0);
  canceled.cancel();
  CHECK(free_then == 1);
  {
    const Subscription gone =
        dispatcher.subscribe(std::nullopt, [held = asking(dispatcher, free_then)](const Event&) {});
  }
  CHECK(free_then == 2);
}

TEST_CASE("a callback that cancels itself is let go of when it has returned") {
  Dispatcher dispatcher(nullptr);
  std::atomic<int> free_then{0};
  int inside = -1;
  Subscription itself;
  itself = dispatcher.subscribe(std::nullopt, [&, held = asking(dispatcher, free_then)](const Event&) {
    itself.cancel();
    inside = free_then;
  });
  dispatch(dispatcher);
  CHECK(inside == 0);
  CHECK(free_then == 1);
}
