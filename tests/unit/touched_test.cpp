// SPDX-License-Identifier: Apache-2.0
/// The files, peers and devices of a report.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/report.hpp>
#include <tracer/summary.hpp>

#include "rules/port_names.hpp"
#include "show/screen.hpp"
#include "show/touched_text.hpp"

using namespace tracer;

namespace {

std::shared_ptr<const Process> process_of(const std::string& tool) {
  auto program = std::make_shared<Program>();
  program->tool = tool;
  auto process = std::make_shared<Process>();
  process->pid = 7;
  process->program = std::move(program);
  return process;
}

FileUse use_of(const std::string& path, const std::string& tool, std::optional<std::uint64_t> read,
               std::optional<std::uint64_t> written = {}) {
  FileUse use;
  use.process = process_of(tool);
  use.path = path;
  use.opens = 1;
  use.opened_to_read = read || !written;
  use.opened_to_write = written.has_value();
  use.read_bytes = read;
  use.written_bytes = written;
  return use;
}

Connection connection_of(const std::string& tool, const std::string& address, std::uint64_t received) {
  Connection connection;
  connection.process = process_of(tool);
  connection.protocol = "tcp";
  connection.role = "client";
  connection.remote_address = address;
  connection.remote_port = 443;
  connection.received_bytes = received;
  return connection;
}

constexpr std::uint64_t kMiB = 1u << 20;

}  // namespace

TEST_CASE("bytes are added up by the kind of their file system, and shown where there are several, or a remote one") {
  Summary summary;
  const auto add = [&summary](const std::string& path, const char* kind, std::optional<std::uint64_t> read,
                              std::optional<std::uint64_t> written = {}) {
    FileUse use = use_of(path, "bwa mem", read, written);
    use.filesystem = kind;
    summary.add(use);
  };
  add("/d/a", "ext4", 5 * kMiB);
  add("/d/b", "ext4", 2 * kMiB, 3 * kMiB);
  CHECK(internal::format_touched(make_report(summary)).find("file systems") == std::string::npos);
  add("/n/c", "nfs4", 20 * kMiB);
  add("/n/d", "nfs4", {});
  const auto systems = summary.file_systems();
  REQUIRE(systems.size() == 2);
  CHECK(systems[0].filesystem == "nfs4");
  CHECK(systems[0].read_bytes == 20 * kMiB);
  CHECK(systems[0].unknown_uses == 1);
  CHECK(systems[1].filesystem == "ext4");
  CHECK(systems[1].read_bytes == 7 * kMiB);
  CHECK(systems[1].written_bytes == 3 * kMiB);
  CHECK(systems[1].unknown_uses == 0);
  for (const bool utf8 : {false, true}) {
    const internal::Utf8Scope scope(utf8);
    const std::string text = internal::format_touched(make_report(summary));
    CAPTURE(text);
    CHECK(text.find(utf8 ? "file systems: nfs4 (≥ 20.0 MiB read, ≥ 0 B written), ext4 (7.0 MiB read, 3.0 MiB written)\n"
                         : "nfs4 (>= 20.0 MiB read, >= 0 B written)") != std::string::npos);
  }
  Summary remote;
  FileUse use = use_of("/n/c", "bwa mem", 5 * kMiB);
  use.filesystem = "lustre";
  remote.add(use);
  CHECK(internal::format_touched(make_report(remote)).find("file systems: lustre") != std::string::npos);
}

TEST_CASE(
    "bytes of a file are added up over processes, with the tool that moved most, and bounds where some are unknown") {
  Summary summary;
  summary.add(use_of("/d/ref.fa", "bwa mem", 5 * kMiB));
  summary.add(use_of("/d/ref.fa", "samtools faidx", 1 * kMiB));
  summary.add(use_of("/d/out.bam", "samtools sort", {}, 8 * kMiB));
  summary.add(use_of("/d/out.bam", "samtools index", {}));
  FileUse renamed = use_of("/d/out.tmp", "mv", {});
  renamed.opens = 0;
  renamed.opened_to_read = false;
  summary.add(renamed);
  const auto files = summary.files();
  REQUIRE(files.size() == 2);
  CHECK(files[0].path == "/d/out.bam");
  CHECK(files[0].written_bytes == 8 * kMiB);
  CHECK(files[0].unknown_uses == 1);
  CHECK(files[1].read_bytes == 6 * kMiB);
  CHECK(files[1].opens == 2);
  CHECK(files[1].read_by == "bwa mem");
  CHECK(files[1].written_by.empty());
  CHECK(files[0].written_by == "samtools sort");
  CHECK(files[1].unknown_uses == 0);
  Report report = make_report(summary);
  report.folder = "/d";
  CHECK(internal::format_touched(report) ==
        "\nmost read below /d: ref.fa (6.0 MiB, most by bwa mem)\nmost written below /d: out.bam (≥ 8.0 MiB, most by "
        "samtools sort)\n");
  // What is elsewhere has its whole path.
  report.folder = "/e";
  CHECK(internal::format_touched(report).find("\nmost read: /d/ref.fa (6.0 MiB") == 0);
  auto program = std::make_shared<Program>();
  program->cwd = "/d";
  Context context{.run = "r"};
  context.run_key = Key{1};
  auto process = std::make_shared<Process>();
  process->program = std::move(program);
  process->context = std::make_shared<const Context>(std::move(context));
  ProcessExec exec;
  exec.process = std::move(process);
  summary.add(exec);
  CHECK(make_report(summary).folder == "/d");
}

TEST_CASE("peers are other machines, by tool; one that could not be reached is named with the reason") {
  Summary summary;
  summary.add(connection_of("curl", "10.0.0.1", 3 * kMiB));
  summary.add(connection_of("curl", "10.0.0.1", 1 * kMiB));
  Connection local = connection_of("psql", "127.0.0.1", 9 * kMiB);
  local.same_host = true;
  summary.add(local);
  Connection refused = connection_of("wget", "10.0.0.2", 0);
  refused.connects = refused.failed_connects = 2;
  refused.error = 111;
  summary.add(refused);
  const auto peers = summary.peers();
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].received_bytes == 4 * kMiB);
  CHECK(peers[1].failed_connects == 2);
  CHECK(internal::format_touched(make_report(summary)) ==
        "\nnetwork: curl with 10.0.0.1:443 (https): 4.0 MiB received, 0 B sent\n"
        "network: wget could not connect to 10.0.0.2:443 (https): Connection refused (2 times)\n");
}

TEST_CASE("sums of several machines: a file or peer of both is one, and devices are each its own") {
  Report one;
  one.files = {{.path = "/d/a", .read_by = "x", .written_by = "", .opens = 1, .read_bytes = 5}};
  one.peers = {{.tool = "x", .protocol = "tcp", .address = "10.0.0.1", .port = 1, .sent_bytes = 5}};
  one.devices.resize(1);
  one.devices[0].name = "vda";
  one.devices[0].read_bytes = 7;
  const Report all = sum_of_reports({one, one}, {0, 0});
  REQUIRE(all.files.size() == 1);
  CHECK(all.files[0].read_bytes == 10);
  CHECK(all.files[0].opens == 2);
  REQUIRE(all.peers.size() == 1);
  CHECK(all.peers[0].sent_bytes == 10);
  CHECK(all.devices.size() == 2);
}

TEST_CASE("connects that failed are not pushed out by peers with data") {
  Summary summary;
  for (int i = 0; i < 40; ++i) summary.add(connection_of("curl", "10.0.1." + std::to_string(i), kMiB));
  Connection refused = connection_of("wget", "10.0.0.2", 0);
  refused.connects = refused.failed_connects = 1;
  refused.error = 111;
  summary.add(refused);
  const auto peers = summary.peers();
  REQUIRE(peers.size() == Summary::kMostBusy + 1);
  CHECK(peers.back().tool == "wget");
}

TEST_CASE("a port has the name of what usually listens there") {
  using internal::PortNames;
  const PortNames& names = PortNames::builtin();
  CHECK(names.name_of("tcp", 443) == "https");
  CHECK(names.name_of("udp", 53) == "dns");
  CHECK(names.name_of("udp", 22) == std::nullopt);
  CHECK(names.name_of("tcp", 40000) == std::nullopt);
  std::string mistakes;
  try {
    PortNames::parse(R"(schema = 1
[[ports]]
name = "a"
protocols = ["tcp", "sctp"]
numbers = [1, 0, 70000]
[[ports]]
name = "b"
protocols = ["tcp"]
numbers = [1]
)",
                     "mine.toml");
  } catch (const Error& error) {
    mistakes = error.what();
  }
  for (const char* each : {"\"sctp\"", "ports from 1 to 65535", "tcp 1 has two names: a and b", "mine.toml"})
    CHECK_MESSAGE(mistakes.find(each) != std::string::npos, mistakes);
}

TEST_CASE("a device that was busy for most of the time is named, with who asked for most") {
  Summary summary;
  DeviceSample sample;
  sample.device = 5;
  sample.device_name = "vda";
  for (int i = 1; i <= 3; ++i) {
    sample.since_ns = 1'000'000'000u * static_cast<unsigned>(i);
    sample.time_ns = sample.since_ns + 1'000'000'000;
    sample.busy_ns = 900'000'000;
    sample.written_bytes = 10 * kMiB;
    sample.heaviest_tool = i == 2 ? "cp" : "dd";
    sample.heaviest_bytes = i == 2 ? 6 * kMiB : 4 * kMiB;
    summary.add(sample);
  }
  SnapshotEnd end;
  end.time_ns = 4'000'000'000;
  summary.add(end);
  const auto devices = summary.devices();
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].busy_ns == 2'700'000'000u);
  CHECK(devices[0].span_ns == 3'000'000'000u);
  CHECK(devices[0].tool == "dd");
  CHECK(devices[0].tool_bytes == 8 * kMiB);
  CHECK(
      internal::format_touched(make_report(summary)) ==
      "\ndisk vda was busy 90 % of the time (0 B read, 30.0 MiB written, by all programs of the host); of this run, dd "
      "used it most (≥ 8.0 MiB)\n");
  // What it may have read and written at all is less than a tenth of that.
  Report report = make_report(summary);
  report.devices[0].read_bytes = 300 * kMiB;
  report.total.read_bytes = report.total.written_bytes = Figure{10 * kMiB, Bound::kExact};
  CHECK(internal::format_touched(report) ==
        "\ndisk vda was busy 90 % of the time, nearly all for other programs (330.0 MiB); of this run, dd used it most "
        "(≥ 8.0 MiB)\n");
  report.total.written_bytes->bound = Bound::kAtLeast;
  CHECK(internal::format_touched(report).find("other programs") == std::string::npos);
}

TEST_CASE("a GPU that processes held is named, with who held most; its own figures count once for all of them") {
  Summary summary;
  const auto process_of = [](std::string tool, std::uint32_t pid) {
    auto process = std::make_shared<Process>();
    process->pid = pid;
    process->program = std::make_shared<const Program>(Program{.tool = std::move(tool)});
    return process;
  };
  GpuSample sample;
  sample.gpu = "nvidia0";
  sample.gpu_name = "A100";
  sample.gpu_capacity_bytes = 80 * 1024 * kMiB;
  for (unsigned i = 0; i <= 2; ++i) {
    sample.time_ns = 1'000'000'000u * (i + 1);
    if (i > 0) {
      sample.since_ns = sample.time_ns - 1'000'000'000;
      sample.busy_ns = 150'000'000;
      sample.gpu_busy_ns = 400'000'000;
    }
    for (const bool large : {false, true}) {
      sample.process = large ? process_of("python", 1) : process_of("relion", 2);
      sample.memory_bytes = (large ? 12 : 3) * 1024 * kMiB * (i == 1 ? 1 : 0) + kMiB;
      summary.add(sample);
    }
  }
  const auto gpus = summary.gpus();
  REQUIRE(gpus.size() == 1);
  CHECK(gpus[0].gpu == "nvidia0");
  CHECK(gpus[0].span_ns == 2'000'000'000u);
  CHECK(gpus[0].busy_ns == 800'000'000u);
  CHECK(gpus[0].used_ns == 600'000'000u);
  CHECK(gpus[0].memory_peak_bytes == 15 * 1024 * kMiB + 2 * kMiB);
  CHECK(gpus[0].tool == "python");
  CHECK(gpus[0].tool_peak_bytes == 12 * 1024 * kMiB + kMiB);
  CHECK(internal::format_touched(make_report(summary)) ==
        "\nGPU nvidia0 (A100): busy 40 % of the time, used 30 % of the time, up to 15.0 GiB of 80.0 GiB held, most by "
        "python\n");
}

TEST_CASE(
    "a GPU that was hardly used is not worth a line, and one without figures of memory names who used it longest") {
  Summary summary;
  GpuSample sample;
  auto process = std::make_shared<Process>();
  process->program = std::make_shared<const Program>(Program{.tool = "ffmpeg"});
  sample.process = process;
  sample.gpu = "card1";
  sample.since_ns = 1'000'000'000;
  sample.time_ns = 2'000'000'000;
  sample.busy_ns = 1'000'000;
  summary.add(sample);
  CHECK(internal::format_touched(make_report(summary)).empty());
  sample.since_ns = 2'000'000'000;
  sample.time_ns = 3'000'000'000;
  sample.busy_ns = 999'000'000;
  summary.add(sample);
  CHECK(internal::format_touched(make_report(summary)) == "\nGPU card1: used 50 % of the time, most by ffmpeg\n");
}

TEST_CASE("of many files those with most bytes stay, and nothing is said where nothing was moved") {
  Summary summary;
  CHECK(internal::format_touched(make_report(summary)).empty());
  summary.add(use_of("/d/largest", "dd", 1000 * kMiB));
  for (int i = 0; i < 30'000; ++i) summary.add(use_of("/d/" + std::to_string(i), "touch", 1));
  const auto files = summary.files();
  CHECK(files.size() == Summary::kMostBusy);
  CHECK(files[0].path == "/d/largest");
}
