// SPDX-License-Identifier: Apache-2.0
#include "serve/recent_events.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <tracer/error.hpp>

#include "base/read_at.hpp"
#include "serve/restart_bytes.hpp"
#include "stream/column_frame.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_header.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint64_t kMagic = 0x314c4f4f50535254;  // "TRSPOOL1"
constexpr std::size_t kHeadBytes = 4096;
constexpr std::uint32_t kMostViewers = 65536;
constexpr std::uint32_t kMostRings = 64;

struct Head {
  std::uint64_t magic = kMagic;
  std::uint64_t schema = kStreamSchema;  ///< Of the frames of events.
  std::uint64_t half_bytes = RecentEvents::kHalfBytes;
  std::uint64_t released_events = 0;
};
/// Of the byte with an event's audience.
constexpr std::uint8_t kChangedUser = 0x80;

struct HalfHead {
  std::uint64_t generation = 0;  ///< The one with the larger is being filled; 0: none yet.
  std::uint64_t used = 0;        ///< Bytes, this among them.
};

enum class EntryKind : std::uint32_t { kViewers = 1, kSums, kEvents, kLiving, kFiltered };

struct EntryHead {
  EntryKind kind{};
  std::uint32_t bytes = 0;  ///< Behind this.
  std::uint32_t checksum = 0;
  std::uint32_t reserved = 0;
};

off_t place_of_half(std::uint32_t half) noexcept {
  return static_cast<off_t>(kHeadBytes + half * RecentEvents::kHalfBytes);
}

bool write_at(int fd, std::span<const std::byte> bytes, off_t at) noexcept {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    at += done;
  }
  return true;
}

template <class T>
bool write_value_at(int fd, const T& value, off_t at) noexcept {
  return write_at(fd, std::as_bytes(std::span(&value, 1)), at);
}

std::uint32_t checksum_of_entry(std::span<const std::byte> bytes) noexcept {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

Bytes entry_of(EntryKind kind, std::span<const std::byte> payload) {
  Bytes entry;
  put_value(entry, EntryHead{kind, static_cast<std::uint32_t>(payload.size()), checksum_of_entry(payload), 0});
  put_bytes(entry, payload);
  return entry;
}

/// Of those without a filter, and of the others.
Bytes entries_of(std::span<const RecentEvents::Viewer> viewers) {
  std::uint32_t plain = 0;
  std::uint32_t with_filter = 0;
  Bytes of_plain;
  Bytes of_filtered;
  for (const RecentEvents::Viewer& each : viewers) {
    if (!each.filtered) {
      ++plain;
      put_viewer(of_plain, each);
      continue;
    }
    Bytes one;
    put_filtered(one, each);
    if (one.size() > RecentEvents::kMostFilteredBytes ||
        of_filtered.size() + one.size() > RecentEvents::kMostBytesOfFiltered)
      continue;
    ++with_filter;
    put_bytes(of_filtered, one);
  }
  const auto counted = [](std::uint32_t count, const Bytes& all) {
    Bytes payload;
    put_value(payload, count);
    put_bytes(payload, all);
    return payload;
  };
  Bytes entries = entry_of(EntryKind::kViewers, counted(plain, of_plain));
  if (with_filter != 0) put_bytes(entries, entry_of(EntryKind::kFiltered, counted(with_filter, of_filtered)));
  return entries;
}

template <class F>
std::vector<RecentEvents::Viewer> viewers_from(Taker taker, F&& take_one) {
  std::vector<RecentEvents::Viewer> viewers;
  const auto count = taker.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < std::min(count, kMostViewers) && taker.good(); ++i) {
    RecentEvents::Viewer viewer = take_one(taker);
    if (taker.good()) viewers.push_back(std::move(viewer));
  }
  return viewers;
}

void put_frame(Bytes& out, const EventFrame& frame) {
  put_value(out, frame.events);
  put_value(out, frame.bytes.payload_bytes);
  put_value(out, frame.bytes.checksum);
  put_value(out, static_cast<std::uint32_t>(frame.bytes.stored.size()));
  put_bytes(out, frame.bytes.stored);
}

/// False: it is damaged.
bool take_frame(Taker& taker, std::vector<Event>& events) {
  EventFrame frame;
  frame.events = taker.take<std::uint64_t>();
  frame.bytes.payload_bytes = taker.take<std::uint32_t>();
  frame.bytes.checksum = taker.take<std::uint32_t>();
  const auto stored = taker.bytes(taker.take<std::uint32_t>());
  if (!taker.good()) return false;
  frame.bytes.stored.assign(stored.begin(), stored.end());
  const std::size_t before = events.size();
  std::vector<Event> more = events_from(frame, 0);
  std::move(more.begin(), more.end(), std::back_inserter(events));
  return events.size() - before == frame.events;
}

std::vector<std::byte> read_half(int memory, std::uint32_t half, HalfHead& head) {
  std::vector<std::byte> bytes;
  if (::pread(memory, &head, sizeof head, place_of_half(half)) != sizeof head || head.generation == 0 ||
      head.used < sizeof head || head.used > RecentEvents::kHalfBytes)
    return bytes;
  bytes.resize(static_cast<std::size_t>(head.used) - sizeof head);
  bytes.resize(read_at(memory, bytes, place_of_half(half) + static_cast<off_t>(sizeof head)));
  return bytes;
}

using Living = std::map<ProcessId, RecentEvents::Left::Process>;

void follow(Living& living, const Event& event) {
  if (const auto* start = event.get_if<ProcessStart>()) {
    living.insert_or_assign(id_of(*start->process),
                            RecentEvents::Left::Process{start->process, {}, start->attached_ns});
  } else if (const auto* exec = event.get_if<ProcessExec>()) {
    living.insert_or_assign(id_of(*exec->process),
                            RecentEvents::Left::Process{exec->process, exec->time_ns, exec->attached_ns});
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    living.erase(id_of(*exit->process));
  }
}

/// What the entries of the halves say, in their order.
class LeftReader {
 public:
  /// False: an entry is damaged.
  bool take(std::span<const std::byte> half) {
    Taker entries(half);
    while (true) {
      const auto head = entries.take<EntryHead>();
      if (!entries.good()) return true;
      const auto payload = entries.bytes(head.bytes);
      if (!entries.good() || checksum_of_entry(payload) != head.checksum || !take(head.kind, Taker(payload)))
        return false;
    }
  }
  RecentEvents::Left left;
  bool knows_living = false;

 private:
  bool take(EntryKind kind, Taker taker) {
    switch (kind) {
      case EntryKind::kViewers: return take_viewers(viewers_from(taker, viewer_from));
      case EntryKind::kSums: return take_sums(taker);
      case EntryKind::kEvents: return take_events(taker);
      case EntryKind::kLiving: return take_living(taker);
      case EntryKind::kFiltered: return take_filtered(viewers_from(taker, filtered_from));
    }
    return false;
  }

  /// Each time as it was then.
  bool take_filtered(std::vector<RecentEvents::Viewer> viewers) {
    for (RecentEvents::Viewer& each : viewers) {
      if (left.events.empty()) {
        std::erase_if(left.viewers, [&](const auto& v) { return v.filtered && v.filtered->id == each.filtered->id; });
        left.viewers.push_back(std::move(each));
      } else {
        left.newcomers.emplace_back(left.events.size(), std::move(each));
      }
    }
    return true;
  }

  bool take_viewers(std::vector<RecentEvents::Viewer> viewers) {
    for (RecentEvents::Viewer& each : viewers) {
      const auto is_same = [&each](const RecentEvents::Viewer& v) { return !v.filtered && v.sight == each.sight; };
      if (left.events.empty() && !std::exchange(has_viewers_, true)) left.viewers.clear();
      const bool known =
          std::any_of(left.viewers.begin(), left.viewers.end(), is_same) ||
          std::any_of(left.newcomers.begin(), left.newcomers.end(), [&](const auto& v) { return is_same(v.second); });
      if (known) continue;
      if (left.events.empty()) {
        left.viewers.push_back(std::move(each));
      } else {
        left.newcomers.emplace_back(left.events.size(), std::move(each));
      }
    }
    return true;
  }
  bool take_sums(Taker& taker) {
    const auto next = taker.take<std::uint64_t>();
    // A round between them had no room.
    if (next != left.next) left.viewers.clear(), left.events.clear(), left.newcomers.clear();
    left.next = next;
    left.exits = taker.take<std::uint64_t>();
    const auto causes = taker.take<std::uint32_t>();
    left.losses.clear();
    for (std::uint32_t i = 0; i < causes && taker.good(); ++i) {
      const auto count = taker.take<std::uint64_t>();
      const auto name = taker.bytes(taker.take<std::uint32_t>());
      left.losses[std::string(reinterpret_cast<const char*>(name.data()), name.size())] = count;
    }
    return taker.good();
  }
  bool take_events(Taker& taker) {
    RecentEvents::Position position;
    const auto first = taker.take<std::uint64_t>();
    position.side = taker.take<std::uint64_t>();
    const auto rings = taker.take<std::uint32_t>();
    if (rings > kMostRings) return false;
    for (std::uint32_t i = 0; i < rings; ++i) position.given.push_back(taker.take<std::uint64_t>());
    const auto count = taker.take<std::uint32_t>();
    const auto owners = taker.bytes(std::size_t{count} * kOwnerBytes);
    const auto frames = taker.take<std::uint32_t>();
    std::vector<Event> events;
    for (std::uint32_t i = 0; i < frames; ++i)
      if (!take_frame(taker, events)) return false;
    if (!taker.good() || events.size() != count || first < left.next) return false;
    left.next = first;
    Taker each_owner(owners);
    for (Event& event : events) {
      const auto audience = each_owner.take<std::uint8_t>();
      const Owner owner{static_cast<Audience>(audience & ~kChangedUser), each_owner.take<std::uint32_t>()};
      if (owner.audience > Audience::kEverybody) return false;
      follow(left.living, event);
      if (event.kind() == EventKind::kProcessExit) ++left.exits;
      if (const auto* loss = event.get_if<Loss>()) left.losses[loss->cause] += loss->count;
      left.events.push_back({std::move(event), owner, (audience & kChangedUser) != 0});
    }
    left.next += count;
    left.position = std::move(position);
    return true;
  }
  bool take_living(Taker& taker) {
    const auto frames = taker.take<std::uint32_t>();
    std::vector<Event> events;
    for (std::uint32_t i = 0; i < frames; ++i)
      if (!take_frame(taker, events)) return false;
    Living living;
    for (const Event& event : events) follow(living, event);
    // When its program began is in an event that may be known.
    for (auto& [key, process] : living)
      if (const auto known = left.living.find(key); known != left.living.end()) process.exec_ns = known->second.exec_ns;
    left.living = std::move(living);
    knows_living = true;
    return true;
  }

  static constexpr std::size_t kOwnerBytes = 5;
  bool has_viewers_ = false;
};

}  // namespace

RecentEvents::RecentEvents(const HostInfo& host) : memory_(::memfd_create("tracer-spool", MFD_CLOEXEC)), maker_(host) {
  const auto bytes = static_cast<off_t>(kHeadBytes + 2 * kHalfBytes);
  if (!memory_ || ::ftruncate(memory_.get(), bytes) != 0 || !write_value_at(memory_.get(), Head(), 0) ||
      !begin_half([] { return std::vector<Viewer>(); }))
    throw Error({ErrorCode::kNoMemory, errno, "can't make memory that outlives the service", {}, {}});
  keep_living({});
}

RecentEvents::RecentEvents(const HostInfo& host, UniqueFd memory, const Left& left)
    : memory_(std::move(memory)), maker_(host), next_(left.next), exits_(left.exits), losses_(left.losses) {
  for (const std::uint32_t half : {0u, 1u}) {
    HalfHead head;
    read_half(memory_.get(), half, head);
    if (half != 0 && head.generation < generation_) continue;
    half_ = half;
    generation_ = head.generation;
    used_ = static_cast<std::size_t>(head.used);
  }
}

std::optional<RecentEvents::Left> RecentEvents::read(int memory) {
  Head head;
  struct stat status {};
  if (::fstat(memory, &status) != 0 || status.st_size != static_cast<off_t>(kHeadBytes + 2 * kHalfBytes) ||
      ::pread(memory, &head, sizeof head, 0) != sizeof head || head.magic != kMagic || head.schema != kStreamSchema ||
      head.half_bytes != kHalfBytes)
    return std::nullopt;
  HalfHead heads[2];
  const std::vector<std::byte> halves[2] = {read_half(memory, 0, heads[0]), read_half(memory, 1, heads[1])};
  const std::size_t older = heads[0].generation < heads[1].generation ? 0 : 1;
  LeftReader reader;
  if (heads[older].generation != 0 && !reader.take(halves[older])) return std::nullopt;
  if (!reader.take(halves[1 - older]) || !reader.knows_living) return std::nullopt;
  if (head.released_events > reader.left.next - 1) reader.left.missed = head.released_events - (reader.left.next - 1);
  return std::move(reader.left);
}

void RecentEvents::count(const Event& event) {
  ++next_;
  if (event.kind() == EventKind::kProcessExit) ++exits_;
  if (const auto* loss = event.get_if<Loss>()) losses_[loss->cause] += loss->count;
}

bool RecentEvents::append(std::span<const Judged> events, const Position& position, const Viewers& viewers) {
  std::vector<SharedFrame> frames;
  for (const Judged& each : events) maker_.append(each.event, 0, frames);
  maker_.close(frames);
  Bytes payload;
  put_value(payload, next_);
  put_value(payload, position.side);
  put_value(payload, static_cast<std::uint32_t>(position.given.size()));
  for (const std::uint64_t each : position.given) put_value(payload, each);
  put_value(payload, static_cast<std::uint32_t>(events.size()));
  for (const Judged& each : events) {
    put_value(payload, static_cast<std::uint8_t>(static_cast<unsigned>(each.owner.audience) |
                                                 (each.changed_user ? kChangedUser : 0u)));
    put_value(payload, static_cast<std::uint32_t>(each.owner.uid));
  }
  put_value(payload, static_cast<std::uint32_t>(frames.size()));
  for (const SharedFrame& frame : frames) put_frame(payload, *frame);
  const bool written = write(entry_of(EntryKind::kEvents, payload), viewers);
  for (const Judged& each : events) count(each.event);
  // What follows has other numbers: it can only go on in a new half.
  if (!written) used_ = kHalfBytes;
  return written;
}

bool RecentEvents::append(const std::vector<Viewer>& viewers, const Viewers& all) {
  return write(entries_of(viewers), all);
}

void RecentEvents::keep_living(std::span<const Event> living) {
  std::vector<SharedFrame> frames;
  for (const Event& event : living)
    if (event.kind() == EventKind::kProcessStart) maker_.append(event, 0, frames);
  maker_.close(frames);
  Bytes payload;
  put_value(payload, static_cast<std::uint32_t>(frames.size()));
  for (const SharedFrame& frame : frames) put_frame(payload, *frame);
  const Bytes entry = entry_of(EntryKind::kLiving, payload);
  wants_living_ = false;
  // Where it has no room, the other half still has it.
  if (used_ + entry.size() <= kHalfBytes) write_raw(entry);
}

void RecentEvents::note_released(std::uint64_t events) noexcept {
  write_value_at(memory_.get(), events, static_cast<off_t>(offsetof(Head, released_events)));
}

bool RecentEvents::write_raw(std::span<const std::byte> entry) {
  const off_t half = place_of_half(half_);
  if (!write_at(memory_.get(), entry, half + static_cast<off_t>(used_))) return false;
  const std::uint64_t used = used_ + entry.size();
  if (!write_value_at(memory_.get(), used, half + static_cast<off_t>(offsetof(HalfHead, used)))) return false;
  used_ = static_cast<std::size_t>(used);
  return true;
}

bool RecentEvents::begin_half(const Viewers& viewers) {
  const bool first = used_ == 0;
  if (!first) half_ = 1 - half_;
  if (!first) ++generation_;
  if (!write_value_at(memory_.get(), HalfHead(), place_of_half(half_))) return false;
  wants_living_ = !first;
  Bytes sums;
  put_value(sums, next_);
  put_value(sums, exits_);
  put_value(sums, static_cast<std::uint32_t>(losses_.size()));
  for (const auto& [cause, count] : losses_) {
    put_value(sums, count);
    put_value(sums, static_cast<std::uint32_t>(cause.size()));
    put_bytes(sums, std::as_bytes(std::span(cause)));
  }
  Bytes entries = entry_of(EntryKind::kSums, sums);
  put_bytes(entries, entries_of(viewers()));
  const HalfHead head{generation_, sizeof head + entries.size()};
  used_ = static_cast<std::size_t>(head.used);
  return write_at(memory_.get(), entries, place_of_half(half_) + static_cast<off_t>(sizeof head)) &&
         write_value_at(memory_.get(), head, place_of_half(half_));
}

bool RecentEvents::write(Bytes entry, const Viewers& viewers) {
  if (used_ + entry.size() > kHalfBytes && !begin_half(viewers)) return false;
  return used_ + entry.size() <= kHalfBytes && write_raw(entry);
}

}  // namespace tracer::internal
