// SPDX-License-Identifier: Apache-2.0
#include <tracer/testing.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>

#include "base/unique_fd.hpp"

namespace tracer::testing {

struct FakeSource::State {
  UniqueFd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  mutable std::mutex mutex;
  std::vector<std::vector<std::byte>> records;
  std::map<std::string, std::uint64_t> losses;
  bool finished = false;

  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(event.get(), &one, sizeof one);
  }
};

FakeSource::FakeSource() : state_(std::make_unique<State>()) {}
FakeSource::~FakeSource() = default;

void FakeSource::push(std::span<const std::byte> record) {
  const std::lock_guard lock(state_->mutex);
  state_->records.emplace_back(record.begin(), record.end());
  state_->wake();
}

void FakeSource::finish() {
  const std::lock_guard lock(state_->mutex);
  state_->finished = true;
  state_->wake();
}

void FakeSource::set_loss(const std::string& cause, std::uint64_t count) {
  const std::lock_guard lock(state_->mutex);
  state_->losses[cause] = count;
}

void FakeSource::start(Receiver&) {}
int FakeSource::fd() const noexcept { return state_->event.get(); }

void FakeSource::poll(Receiver& receiver) {
  std::vector<std::vector<std::byte>> records;
  {
    const std::lock_guard lock(state_->mutex);
    records.swap(state_->records);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(state_->event.get(), &count, sizeof count);
    if (state_->finished) state_->wake();
  }
  for (const auto& record : records) receiver.on_record(record);
}

bool FakeSource::finished() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->finished && state_->records.empty();
}

void FakeSource::stop() { finish(); }

std::map<std::string, std::uint64_t> FakeSource::losses() const {
  const std::lock_guard lock(state_->mutex);
  return state_->losses;
}

HostInfo FakeSource::host() const {
  HostInfo host = this_host();
  host.boot_id = "00000000-0000-0000-0000-000000000000";
  return host;
}

}  // namespace tracer::testing
