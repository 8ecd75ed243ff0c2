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
#include "stream/stream_header.hpp"

namespace {

using Bytes = std::vector<std::byte>;

void append_frame(Bytes& file, tracer::internal::FrameWriter& writer, std::span<const std::byte> payload) {
  if (payload.size() <= tracer::internal::kMaxFrameBytes) writer.append(file, payload);
}

Bytes file_of(std::span<const std::byte> input) {
  if (input.empty()) return {};
  const auto mode = static_cast<unsigned>(input.front());
  input = input.subspan(1);
  if (mode == 0) return {input.begin(), input.end()};
  const auto magic = std::as_bytes(std::span(tracer::internal::kRecordingMagic));
  tracer::internal::FrameWriter writer(1);
  Bytes file(magic.begin(), magic.end());
  if (mode == 1) {
    constexpr std::byte kSeparator[] = {std::byte{0}, std::byte{0}};
    const auto at = std::search(input.begin(), input.end(), std::begin(kSeparator), std::end(kSeparator));
    append_frame(file, writer, input.first(static_cast<std::size_t>(at - input.begin())));
    if (at != input.end()) append_frame(file, writer, {at + 2, input.end()});
    return file;
  }
  Bytes header;
  tracer::internal::put_header(header, {});
  append_frame(file, writer, header);
  append_frame(file, writer, input);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes file = file_of(std::as_bytes(std::span(data, size)));
  const int fd = ::memfd_create("recording", MFD_CLOEXEC);
  if (fd < 0) return 0;
  const bool written = ::pwrite(fd, file.data(), file.size(), 0) == static_cast<ssize_t>(file.size());
  try {
    tracer::RecordingReader reader(fd, "input");
    std::size_t events = 0;
    while (const auto event = reader.next())
      if (++events % 256 == 1) static_cast<void>(tracer::to_json(*event));
    if (written && reader.damage().skipped_bytes > file.size()) __builtin_trap();
  } catch (const tracer::Error&) {
  }
  return 0;
}
