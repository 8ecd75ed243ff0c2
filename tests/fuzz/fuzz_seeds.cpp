// SPDX-License-Identifier: Apache-2.0
/// Writes the fuzzers' first inputs: fuzz_seeds FOLDER makes a folder in it for each fuzzer.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/sink.hpp>

#include "protocol/messages.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/secrets/secret_rules_reader.hpp"
#include "sample_events.hpp"
#include "serve/recent_events.hpp"
#include "stream/frame_encoder.hpp"
#include "stream/stream_header.hpp"
#include "temp_file.hpp"
#include "wire_builder.hpp"

namespace {

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) { std::filesystem::create_directories(path_); }
  void add(std::uint8_t mode, std::span<const std::byte> bytes) {
    std::vector<std::byte> all = {static_cast<std::byte>(mode)};
    all.insert(all.end(), bytes.begin(), bytes.end());
    add(all);
  }
  void add(std::span<const std::byte> bytes) {
    std::ofstream file(path_ / ("seed" + std::to_string(next_++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path path_;
  int next_ = 0;
};

void recordings(Folder whole, Folder columns) {
  const TempFile file;
  {
    const auto sink = tracer::recording_sink(file.path(), tracer::HostInfo{});
    sink->write(sample_events::all());
  }
  whole.add(0, file.bytes());
  tracer::internal::Bytes header;
  tracer::internal::put_header(header, {});
  whole.add(1, header);
  header.resize(header.size() + 2);
  whole.add(1, header);

  tracer::internal::FrameEncoder encoder;
  const auto add = [&](std::span<const tracer::Event> events) {
    for (const tracer::Event& event : events) encoder.append(event);
    tracer::internal::Bytes payload;
    encoder.close(payload, {});
    whole.add(2, payload);
    columns.add(payload);
  };
  const auto events = sample_events::all();
  add(events);
  for (const tracer::Event& event : events) {
    const tracer::Event several[] = {event, event, event};
    add({&event, 1});
    add(several);
  }
}

void gpus(Folder folder) {
  const auto add = [&](std::uint8_t mode, std::string_view text) { folder.add(mode, std::as_bytes(std::span(text))); };
  add(0,
      "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\ndrm-memory-vram:\t9 KiB\n"
      "drm-engine-gfx:\t5 ns\ndrm-engine-capacity-gfx:\t2\n");
  add(0,
      "drm-driver:\txe\ndrm-client-id:\t7\ndrm-resident-vram0:\t9 MiB\ndrm-cycles-rcs:\t5\ndrm-total-cycles-rcs:\t9\n");
  add(255,
      "nvml 12.1 (driver 2)\nstate 1000\ndevice 0 1000 600 70 u A100 SXM\nprocess 42 500 30\nend\n"
      "state 2000\ndevice 0 1000 600 90 u A100 SXM\nprocess 42 500 40\nprocess 1 - -\nend\n");
  add(9, "failed no such library\n");
}

void records(Folder folder) {
  const wire::Who who{.pid = 42, .start_ns = 1000, .comm = "sh"};
  const wire::Who child = wire::child_of(who, 43, 1500);
  const wire::Bytes each[] = {
      wire::cgroup_record(1, "/docker/" + std::string(64, 'a')),
      wire::cgroup_record(2, "/a/b", true),
      wire::start_record(who),
      wire::exec_record(who, {.time_ns = 1100, .program_start_ns = 1000, .argv = {"mysql", "--password=abc"}}),
      wire::exec_record(who, {.time_ns = 1150, .argv_total = 9000}, std::string(4096, 'x')),
      wire::start_record(child),
      wire::thread_record(who, {.tid = 42, .own = wire::counted(3), .newly_adopted = 1}),
      wire::exit_record(child, {.time_ns = 2000, .program_start_ns = 1500, .late = wire::counted(1)}),
      wire::exit_record(who, {.time_ns = 3000, .program_start_ns = 1100, .total = wire::counted(9)})};
  wire::Bytes all;
  const auto append = [](wire::Bytes& to, const wire::Bytes& record) {
    to.push_back(static_cast<std::byte>(record.size() & 0xff));
    to.push_back(static_cast<std::byte>(record.size() >> 8));
    to.insert(to.end(), record.begin(), record.end());
  };
  for (const wire::Bytes& record : each) {
    wire::Bytes one;
    append(one, record);
    append(all, record);
    folder.add(0, one);
  }
  for (const std::uint8_t filters : {std::uint8_t{0}, std::uint8_t{3}, std::uint8_t{7}}) folder.add(filters, all);
}

/// Each built-in rule as a file of its own.
void rules(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string_view text = tracer::internal::builtin_rules("engines");
  constexpr std::string_view kRule = "\n[[rule]]\n";
  int number = 0;
  for (std::size_t at = text.find(kRule); at != std::string_view::npos;) {
    const std::size_t next = text.find(kRule, at + 1);
    std::ofstream file(folder / std::to_string(number++), std::ios::binary);
    file << "schema = 1\n" << text.substr(at, next - std::min(at, next)) << '\0' << "bash" << '\0' << ".command.run";
    at = next;
  }
}

/// A line of each kind.
void lines(Folder folder) {
  using namespace tracer::internal;
  const auto add = [&](const std::string& line) { folder.add(std::as_bytes(std::span(line))); };
  tracer::Context context;
  context.step = "ALIGN";
  context.labels = {{"lane", "1"}};
  const tracer::BelowProcess below{{5, 6}, {"...", "align.sh"}};
  add(to_line(Request(HelloRequest{})));
  add(to_line(Request(AnnounceRequest{{tracer::InWorkDir{"/scratch/ab"}, context, {.millicpus = 1}}})));
  add(to_line(Request(AnnounceRequest{{below, context}})));
  add(to_line(Request(LabelRequest{7, context})));
  add(to_line(Request(OwnWorkRequest{context, {}})));
  add(to_line(Request(SubscribeRequest{{tracer::EventKind::kProcessExit}, 3, true, 4096})));
  add(to_line(Request(SubscribeRequest{.filter = tracer::Filter().include_tree(7).exclude_tool("x *")})));
  add(text_of(tracer::Filter().include_cgroup("/x").exclude_uid(0)));
  add(to_line(Request(StateRequest{{"a.1", {"tasks"}, "00ff00ff00ff00ff", {"cpu_ns"}}})));
  add(to_line(HelloReply{}));
  add(to_line(TotalsReply{{{.context = context}}}));
  add(to_line(StatisticsReply{}));
  add(to_line(LabelReply{3}));
  add(to_line(HistoryReply{}));
  add(to_line(StateReply{}));
  add(ok_line());
  add(refusal_line(tracer::Error({tracer::ErrorCode::kServiceRefused, 0, "no", "a fix", {}})));
  for (const tracer::Event& event : sample_events::all()) {
    if (const auto* sample = event.get_if<tracer::ProcessSample>()) add(to_line(SnapshotReply{{*sample}}));
    if (const auto* finding = event.get_if<tracer::Finding>()) add(to_line(FindingsReply{{*finding}}));
  }
}

/// Entries of a spool with their checksums, and what clients have said.
void kept(Folder folder) {
  using namespace tracer::internal;
  RecentEvents spool(tracer::HostInfo{});
  std::vector<RecentEvents::Judged> judged;
  for (const tracer::Event& event : sample_events::all()) judged.push_back({event, {}, false});
  const auto nobody = [] { return std::vector<RecentEvents::Viewer>(); };
  RecentEvents::Viewer viewer{Sight{.owners = {1000}}, 1, 0, 1, 0};
  viewer.filtered = KeptFilter{
      9, true, text_of(tracer::Filter().include_uid(1000)), {11}, {{{1, 10, Selection::kSelected}}, {}, {}, {77}}};
  spool.append(std::vector<RecentEvents::Viewer>{viewer}, nobody);
  spool.append(judged, {7, {100}}, nobody);
  Bytes bytes(64u << 10);
  bytes.resize(static_cast<std::size_t>(::pread(spool.memory(), bytes.data(), bytes.size(), 4096 + 16)));
  // As fuzz_kept reads them: the kind, two bytes of the size, and what is behind the head of 16 bytes.
  Bytes entries;
  for (std::size_t at = 0; at + 16 <= bytes.size() && load<std::uint32_t>(&bytes[at]) != 0;) {
    const std::size_t size = load<std::uint32_t>(&bytes[at + 4]);
    if (size > 0xffff || at + 16 + size > bytes.size()) break;
    entries.insert(entries.end(), {bytes[at], bytes[at + 4], bytes[at + 5]});
    put_bytes(entries, std::span(bytes).subspan(at + 16, size));
    at += 16 + size;
  }
  folder.add(0, entries);
  tracer::Context context;
  context.step = "ALIGN";
  const std::string said = "c 3 1000 " + to_line(Request(LabelRequest{0, context})) + "a 1000 1 5 99999999999999999 " +
                           to_line(Request(AnnounceRequest{{tracer::InWorkDir{"/scratch/ab"}, context}})) +
                           "t 1 99999999999999999\nf 3\n";
  folder.add(1, std::as_bytes(std::span(said)));
}

/// The argument vectors of the examples of the rules for secrets.
void secrets(Folder folder) {
  for (const auto& example :
       tracer::internal::read_secret_examples(tracer::internal::builtin_rules("secrets"), "rules/secrets.toml")) {
    std::string text;
    for (const std::string& word : example.argv) text.append(word).push_back('\0');
    folder.add(std::as_bytes(std::span(text)));
  }
}

void files(Folder folder) {
  for (const std::string_view text : {R"([{"id":"x","names":["align"],"metadata":"{\"image-name\":\"bwa:0.7\"}"}])",
                                      R"({"Name":"/align","Config":{"Image":"bwa:0.7"}})",
                                      "rule align:\n    input: \"a\"\n    shell:\n        \"bwa {input} > "
                                      "{output}\"\n\nset -euo pipefail; bwa a > b"})
    folder.add(std::as_bytes(std::span(text)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  recordings(Folder(std::filesystem::path(argv[1]) / "fuzz_recording"),
             Folder(std::filesystem::path(argv[1]) / "fuzz_columns"));
  files(Folder(std::filesystem::path(argv[1]) / "fuzz_files"));
  records(Folder(std::filesystem::path(argv[1]) / "fuzz_wire"));
  gpus(Folder(std::filesystem::path(argv[1]) / "fuzz_gpu"));
  rules(std::filesystem::path(argv[1]) / "fuzz_rules");
  secrets(Folder(std::filesystem::path(argv[1]) / "fuzz_secrets"));
  lines(Folder(std::filesystem::path(argv[1]) / "fuzz_protocol"));
  kept(Folder(std::filesystem::path(argv[1]) / "fuzz_kept"));
  return 0;
}
