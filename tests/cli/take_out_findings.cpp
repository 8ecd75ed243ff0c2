// SPDX-License-Identifier: Apache-2.0
/// take_out_findings FROM TO: the recording as if it had been made before there were findings and ledgers of tasks, so
/// that a reader makes them anew.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include "stream/column_layout.hpp"
#include "stream/frame.hpp"
#include "stream/frame_encoder.hpp"
#include "stream/recording_file.hpp"
#include "stream/stream_header.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

bool is_finding(const msgpack::object& kind) {
  return kind.as<std::uint64_t>() == static_cast<std::uint64_t>(EventKind::kFinding);
}

/// That of a writer which knows no findings.
Bytes header_without_findings(const RecordingFile& from) {
  Bytes header;
  put_header(header, from.header());
  const msgpack::object_handle unpacked = msgpack::unpack(reinterpret_cast<const char*>(header.data()), header.size());
  const msgpack::object_map& map = unpacked.get().via.map;
  for (std::uint32_t i = 0; i < map.size; ++i) {
    if (map.ptr[i].key.as<std::string>() != "fields") continue;
    msgpack::object_map& kinds = map.ptr[i].val.via.map;
    for (std::uint32_t kind = 0; kind < kinds.size; ++kind)
      if (is_finding(kinds.ptr[kind].key)) kinds.ptr[kind--] = kinds.ptr[--kinds.size];
  }
  msgpack::sbuffer packed;
  msgpack::pack(packed, unpacked.get());
  const auto bytes = std::as_bytes(std::span(packed.data(), packed.size()));
  return {bytes.begin(), bytes.end()};
}

/// Absent: nothing is left of it.
std::optional<Event> without_findings(const Event& event) {
  if (event.kind() == EventKind::kFinding) return std::nullopt;
  if (const auto* task = event.get_if<TaskFinish>()) {
    TaskFinish finish = *task;
    finish.task_ledger.reset();
    finish.waits_for.clear();
    return Event(finish);
  }
  if (const auto* run = event.get_if<RunFinish>()) {
    RunFinish finish = *run;
    finish.task_ledger.reset();
    finish.without_task_ns.reset();
    return Event(finish);
  }
  return event;
}

class Writer {
 public:
  explicit Writer(const RecordingFile& from) : frames_(from.stream(), kRecordingLevel) {
    put_bytes(bytes_, std::as_bytes(std::span(kRecordingMagic)));
    frames_.append(bytes_, header_without_findings(from));
  }
  void add(const Event& event) {
    if (!encoder_.has_room() || charged_bytes_ + event.charge_bytes() > kMaxChargeBytes / 2) close_frame();
    charged_bytes_ += event.charge_bytes();
    encoder_.append(event);
  }
  /// An empty one says that another file goes on.
  void close_frame() {
    const std::size_t least_bytes = std::max(encoder_.things() / kThingsPerByte, 2 * charged_bytes_ / kMostGrowth) + 1;
    Bytes payload;
    encoder_.close(payload, {});
    frames_.append(bytes_, payload, least_bytes);
    charged_bytes_ = 0;
  }
  bool has_open_frame() const { return !encoder_.empty(); }
  const Bytes& bytes() const { return bytes_; }

 private:
  FrameWriter frames_;
  FrameEncoder encoder_;
  std::size_t charged_bytes_ = 0;
  Bytes bytes_;
};

Bytes without_findings(RecordingFile& from) {
  Writer to(from);
  bool ended = false;
  for (Event event = from.next(RecordingFile::Wait::kForBytes); event.kind() != EventKind::kNone;
       event = from.next(RecordingFile::Wait::kForBytes)) {
    ended = event.kind() == EventKind::kSessionEnd;
    if (const auto left = without_findings(event)) to.add(*left);
  }
  if (to.has_open_frame()) to.close_frame();
  if (!ended && !from.damage().truncated) to.close_frame();
  return to.bytes();
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  try {
    RecordingFile from{std::filesystem::path(words[1])};
    const Bytes bytes = without_findings(from);
    std::ofstream to(words[2], std::ios::binary);
    to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return to.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "take_out_findings: %s\n", error.what());
    return 1;
  }
}
