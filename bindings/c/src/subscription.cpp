// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <thread>

#include "event_handle.hpp"
#include "session_state.hpp"

namespace tracer::c {

[[noreturn]] void throw_callback_failed(std::uint64_t session, std::int32_t result);

namespace {

/// A callback with what belongs to it.
struct Callback {
  tracer_event_callback function = nullptr;
  void* user_data = nullptr;
  void (*destroy)(void*) = nullptr;
  std::atomic<std::thread::id> runs_on{};
  bool freed_inside = false;  ///< Only by the thread that it runs on.

  void end() const {
    if (destroy != nullptr) destroy(user_data);
  }

  void run(std::uint64_t session, const Event& event) {
    const InCallback inside(session);
    runs_on.store(std::this_thread::get_id());
    const std::int32_t result = function(user_data, handle_of(event));
    runs_on.store(std::thread::id());
    if (freed_inside) end();
    if (result != 0) throw_callback_failed(session, result);
  }
};

}  // namespace
}  // namespace tracer::c

using namespace tracer;
using namespace tracer::c;

struct tracer_subscription {
  Owner owner = {};
  std::shared_ptr<Callback> callback;
  Subscription subscription;
};

tracer_status tracer_session_subscribe(tracer_session* session, tracer_event_kind kind, tracer_event_callback callback,
                                       void* user_data, void (*destroy)(void* user_data), tracer_subscription** out,
                                       tracer_error* error) {
  return guard_make(out, error, [&] {
    const auto wanted = static_cast<EventKind>(kind);
    if (callback == nullptr) throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "callback is NULL"};
    if (wanted != EventKind::kNone && to_string(wanted).empty())
      throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "kind is none of TRACER_EVENT_..."};
    const auto state = need_own(session, "session").state;
    auto handle = std::make_unique<tracer_subscription>();
    handle->callback = std::make_shared<Callback>();
    handle->callback->function = callback;
    handle->callback->user_data = user_data;
    handle->callback->destroy = destroy;
    handle->subscription = state->running().subscribe(
        wanted == EventKind::kNone ? std::nullopt : std::optional(wanted),
        [kept = handle->callback, id = state->id()](const Event& event) { kept->run(id, event); });
    return handle.release();
  });
}

void tracer_subscription_free(tracer_subscription* subscription) {
  if (subscription == nullptr || subscription->owner.elsewhere()) return;
  const std::shared_ptr<Callback> callback = subscription->callback;
  delete subscription;
  if (callback->runs_on.load() == std::this_thread::get_id()) {
    callback->freed_inside = true;
  } else {
    callback->end();
  }
}
