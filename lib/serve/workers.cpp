// SPDX-License-Identifier: Apache-2.0
#include "serve/workers.hpp"

#include <mutex>
#include <utility>

#include "base/wakeup.hpp"

namespace tracer::internal {

struct Workers::Done {
  std::mutex mutex;
  std::vector<Rest> rests;
  Wakeup wakeup;
};

Workers::Workers() : done_(std::make_shared<Done>()) {}

void Workers::ask(Kind kind, uid_t uid, Work work) {
  UserThreads& threads = kind == Kind::kSession ? session_ : files_;
  threads.add(uid, [done = done_, work = std::move(work)] {
    Rest rest = work();
    const std::lock_guard lock(done->mutex);
    done->rests.push_back(std::move(rest));
    done->wakeup.set();
  });
}

void Workers::retry() {
  session_.retry();
  files_.retry();
}

int Workers::fd() const noexcept { return done_->wakeup.fd(); }

std::vector<Workers::Rest> Workers::take_done() {
  const std::lock_guard lock(done_->mutex);
  done_->wakeup.clear();
  return std::exchange(done_->rests, {});
}

}  // namespace tracer::internal
