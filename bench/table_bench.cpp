// SPDX-License-Identifier: Apache-2.0
/// table_bench write COUNT FILE: a recording of COUNT processes that are made up.
/// table_bench read FILE TABLE: reads one table of a recording, and prints how long that took.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/sink.hpp>
#include <tracer/table.hpp>

#include "lives.hpp"

using namespace tracer;

namespace {

int write(std::uint32_t count, const char* file) {
  const auto sink = recording_sink(std::filesystem::path(file), this_host());
  const Process shell = lives::shell();
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < count; ++i) {
    lives::add(events, 2000 + i, shell);
    if (events.size() < 4096 && i + 1 != count) continue;
    sink->write(events);
    events.clear();
  }
  const Event end = SessionEnd{};
  sink->write({&end, 1});
  sink->flush();
  return sink->problem() ? 1 : 0;
}

int read(const char* file, std::string_view name) {
  const auto table = table_from_name(name);
  if (!table) return 2;
  const auto begin = std::chrono::steady_clock::now();
  ArrowArrayStream stream;
  export_table(RecordingReader(std::filesystem::path(file)), *table, &stream);
  std::vector<ArrowArray> batches;
  std::int64_t rows = 0;
  for (;;) {
    ArrowArray batch;
    if (stream.get_next(&stream, &batch) != 0) return 1;
    if (batch.release == nullptr) break;
    rows += batch.length;
    batches.push_back(batch);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%lld rows in %zu batches, %.3f s\n", static_cast<long long>(rows), batches.size(), seconds);
  for (ArrowArray& batch : batches) batch.release(&batch);
  stream.release(&stream);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 4 ? argv[1] : "";
  if (what == "write") return write(static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)), argv[3]);
  if (what == "read") return read(argv[2], argv[3]);
  std::fputs("usage: table_bench write COUNT FILE, or table_bench read FILE TABLE\n", stderr);
  return 2;
}
