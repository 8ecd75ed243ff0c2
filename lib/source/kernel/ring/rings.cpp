// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/rings.hpp"

#include <bpf/bpf.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <limits>

#include "base/clock.hpp"
#include "source/kernel/ring/decoder.hpp"
#include "source/kernel/load/restart_kernel.hpp"
#include "source/kernel/load/libbpf_log.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint32_t kLeastCpusForSeveral = 8;
constexpr std::uint32_t kMostRings = 16;
/// Of each of several: room for some execs, which may take 16 KiB each.
constexpr std::size_t kLeastBytes = 64u << 10;
/// Of one ring, at each turn: enough to go on with, and little for all of them together.
constexpr std::size_t kMostHeldToMerge = 256u << 10;
/// Of all, while the reader is busy elsewhere.
constexpr std::size_t kMostKept = 8u << 20;
constexpr std::uint64_t kKeepUpPeriodNs = 2'000'000;
constexpr std::uint64_t kEndOfTime = std::numeric_limits<std::uint64_t>::max();

/// While it lives, records are being given, and none may be moved.
class Giving {
 public:
  explicit Giving(bool& giving) noexcept : giving_(giving) { giving_ = true; }
  ~Giving() { giving_ = false; }
  Giving(const Giving&) = delete;
  Giving& operator=(const Giving&) = delete;

 private:
  bool& giving_;
};

}  // namespace

RingLayout ring_layout(std::uint32_t cpus, std::size_t ring_bytes, std::uint32_t wanted) noexcept {
  cpus = std::max(cpus, 1u);
  if (wanted == 0) wanted = cpus < kLeastCpusForSeveral ? 1 : std::min(std::bit_floor(cpus / 4), kMostRings);
  wanted = std::max(
      1u, std::min(wanted, static_cast<std::uint32_t>(std::min(ring_bytes / kLeastBytes, std::size_t{kMostRings}))));
  const std::uint32_t each = std::bit_ceil((cpus + wanted - 1) / wanted);
  return {(cpus + each - 1) / each, static_cast<std::uint32_t>(std::countr_zero(each))};
}

std::size_t bytes_of_each(const RingLayout& layout, std::size_t ring_bytes) noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return std::max(ring_bytes / std::bit_ceil(layout.rings), page);
}

Rings::ReaderState::ReaderState(int map)
    : address_(::mmap(nullptr, sizeof(tracer_reader), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0)) {
  if (address_ == MAP_FAILED) refuse("map the reader's state", errno, LibbpfLog());
}

Rings::ReaderState::~ReaderState() { ::munmap(address_, sizeof(tracer_reader)); }

void Rings::ask_to_be_woken() noexcept { std::atomic_ref(reader_->woken).store(0); }

Rings::Rings(const RingMaps& maps)
    : reader_(maps.reader), merge_(maps.layout.rings), held_until_(maps.layout.rings), produced_(maps.layout.rings) {
  const std::uint32_t count = maps.layout.rings;
  const auto release = maps.keep == nullptr ? Ring::Release::kAtOnce : Ring::Release::kWhenTold;
  ring_bytes_ = maps.bytes;
  if (count == 1) {
    rings_.push_back(std::make_unique<Ring>(maps.events, release));
    return;
  }
  const LibbpfLog log;
  any_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!any_) refuse("wait for several rings", errno, log);
  for (std::uint32_t ring = 0; ring < count; ++ring) {
    const auto bytes = static_cast<std::uint32_t>(maps.bytes);
    UniqueFd map = maps.keep == nullptr ? UniqueFd() : maps.keep->take_ring(ring);
    const bool was_there = static_cast<bool>(map);
    if (!was_there) map.reset(::bpf_map_create(BPF_MAP_TYPE_RINGBUF, "events", 0, 0, bytes, nullptr));
    const int fd = map.get();
    if (fd < 0 || (!was_there && ::bpf_map_update_elem(maps.event_rings, &ring, &fd, BPF_ANY) != 0))
      refuse("make a ring for a group of CPUs", errno, log);
    if (maps.keep != nullptr) maps.keep->note_ring(ring, fd);
    maps_.push_back(std::move(map));
    rings_.push_back(std::make_unique<Ring>(fd, release));
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (::epoll_ctl(any_.get(), EPOLL_CTL_ADD, rings_.back()->fd(), &readable) != 0)
      refuse("wait for several rings", errno, log);
    extra_bytes_ += maps.bytes;
  }
}

int Rings::fd() const noexcept { return any_ ? any_.get() : rings_.front()->fd(); }

/// True: more may be there, behind what is held.
bool Rings::hold(std::size_t ring, std::size_t most_bytes) {
  if (merge_.bytes(ring) >= most_bytes) return true;
  return rings_[ring]->consume([&](std::span<const std::byte> record) {
    merge_.hold(ring, record);
    // One that was held up may be out of order.
    held_until_[ring] = std::max(held_until_[ring], time_of_wire(record));
    return merge_.bytes(ring) < most_bytes;
  });
}

/// What has a time of before the first ring is read has been put into its ring by then, if something later that is read
/// here came of it: a fork before its child's exec. It may be behind one that is not whole yet, at which reading stops.
Rings::Held Rings::hold_all() {
  if (rings_.size() == 1) return hold(0, kMostHeldToMerge) ? Held{held_until_[0], false} : Held{kEndOfTime, true};
  std::transform(rings_.begin(), rings_.end(), produced_.begin(), [](const auto& ring) { return ring->produced(); });
  Held held{boot_time_ns(), true};
  for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
    const bool cut = hold(ring, kMostHeldToMerge);
    if (cut) held.all = false;
    if (cut || rings_[ring]->consumed() < produced_[ring]) held.until_ns = std::min(held.until_ns, held_until_[ring]);
  }
  return held;
}

bool Rings::release(std::uint64_t until_ns, const TakeRecord& take) {
  const Giving giving(giving_);
  return merge_.release(until_ns, take);
}

bool Rings::consume(const TakeRecord& take) {
  if (rings_.size() == 1) {
    if (release(kEndOfTime, take)) return true;
    const Giving giving(giving_);
    return rings_.front()->consume(take);
  }
  const Held held = hold_all();
  return release(held.until_ns, take) || !held.all;
}

void Rings::give_until(std::uint64_t until_ns, const TakeRecord& take) {
  for (;;) {
    const Held held = hold_all();
    release(std::min(until_ns, held.until_ns), take);
    if (held.all || held.until_ns >= until_ns) return;
  }
}

bool Rings::is_time_to_keep_up() const noexcept { return !giving_ && boot_time_ns() - kept_up_ns_ >= kKeepUpPeriodNs; }

void Rings::keep_up() {
  kept_up_ns_ = boot_time_ns();
  for (std::size_t ring = 0; ring < rings_.size(); ++ring) hold(ring, kMostKept / rings_.size());
}

std::uint64_t Rings::unread_bytes_of_fullest() const noexcept {
  std::uint64_t most = 0;
  for (const auto& ring : rings_) most = std::max(most, ring->produced() - ring->consumed());
  return most;
}

std::vector<std::uint64_t> Rings::given() const {
  std::vector<std::uint64_t> given;
  for (std::size_t ring = 0; ring < rings_.size(); ++ring)
    given.push_back(rings_[ring]->consumed() - merge_.bytes(ring));
  return given;
}

void Rings::release(std::span<const std::uint64_t> given) noexcept {
  for (std::size_t ring = 0; ring < std::min(given.size(), rings_.size()); ++ring) rings_[ring]->release(given[ring]);
}

double Rings::unreleased_share() const noexcept {
  std::uint64_t most = 0;
  for (const auto& ring : rings_) most = std::max(most, ring->consumed() - ring->released());
  return static_cast<double>(most) / static_cast<double>(ring_bytes_);
}

void Rings::go_on_at(std::span<const std::uint64_t> given) noexcept {
  if (given.size() != rings_.size()) return;
  for (std::size_t ring = 0; ring < rings_.size(); ++ring) rings_[ring]->go_on_at(given[ring]);
}

std::uint64_t Rings::end_position() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& ring : rings_) sum += ring->produced();
  return sum;
}

std::uint64_t Rings::position() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& ring : rings_) sum += ring->consumed();
  return sum - merge_.bytes();
}

}  // namespace tracer::internal
