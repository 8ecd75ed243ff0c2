// SPDX-License-Identifier: Apache-2.0
/// Reads recordings that nobody wrote. The first byte says what the rest is: 0: a whole file; 1: the payload of the
/// header's frame and, after a NUL pair, of another; else: payload of a frame behind a good header. Frames get the
/// right checksums, which a fuzzer would not find by itself.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>

#include "stream/frame.hpp"
#include "stream/recording_header.hpp"

namespace {

using Bytes = std::vector<std::byte>;

void append_frame(Bytes& file, std::span<const std::byte> payload) {
  static tracer::FrameWriter writer;
  const auto frame = writer.frame(payload);
  file.insert(file.end(), frame.begin(), frame.end());
}

Bytes file_of(std::span<const std::byte> input) {
  if (input.empty()) return {};
  const auto mode = static_cast<unsigned>(input.front());
  input = input.subspan(1);
  if (mode == 0) return {input.begin(), input.end()};
  const auto magic = std::as_bytes(std::span(tracer::kRecordingMagic));
  Bytes file(magic.begin(), magic.end());
  if (mode == 1) {
    constexpr std::byte kSeparator[] = {std::byte{0}, std::byte{0}};
    const auto at = std::search(input.begin(), input.end(), std::begin(kSeparator), std::end(kSeparator));
    append_frame(file, input.first(static_cast<std::size_t>(at - input.begin())));
    if (at != input.end()) append_frame(file, {at + 2, input.end()});
    return file;
  }
  msgpack::sbuffer header;
  tracer::pack_header(header, {.host = {}, .events = tracer::event_schema()});
  append_frame(file, std::as_bytes(std::span(header.data(), header.size())));
  append_frame(file, input);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes file = file_of(std::as_bytes(std::span(data, size)));
  const int fd = ::memfd_create("recording", MFD_CLOEXEC);
  if (fd < 0) return 0;
  if (::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size())) {
    try {
      tracer::RecordingReader reader("/proc/self/fd/" + std::to_string(fd));
      while (const auto event = reader.next()) static_cast<void>(tracer::to_json(*event));
      if (reader.damage().skipped_bytes > file.size()) __builtin_trap();
    } catch (const tracer::Error&) {
    }
  }
  ::close(fd);
  return 0;
}
