// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/decoder.hpp"

#include <map>
#include <new>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "decoded.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using namespace tracer::internal;
using wire::Bytes;
using wire::Who;

namespace {

const Who kWho{.pid = 42,
               .start_ns = 1000,
               .parent_pid = 7,
               .parent_start_ns = 500,
               .uid = 33,
               .context_id = 3,
               .cgroup_id = 99,
               .hierarchy = TRACER_HIERARCHY_V1_PIDS,
               .pid_namespace = 4026531836,
               .mount_namespace = 4026531840,
               .comm = "sh"};

const tracer_wire_file kFile = {.header = wire::header_of(TRACER_WIRE_FILE, kWho, 2000),
                                .inode = 5,
                                .size_bytes = 300,
                                .position_bytes = 100,
                                .device = 7,
                                .fd = 3,
                                .readable = 1,
                                .writable = 0,
                                .name = "reads.bam"};

std::optional<Record> decoded(const Bytes& bytes) {
  Decoder decoder;
  const wire::Exact exact(bytes);
  return collect::decoded(decoder, exact.span());
}

template <class R>
R as(const Bytes& bytes) {
  const std::optional<Record> record = decoded(bytes);
  REQUIRE(record.has_value());
  REQUIRE(std::holds_alternative<R>(*record));
  return std::get<R>(*record);
}

std::vector<Bytes> one_of_each_kind() {
  return {wire::start_record(kWho),
          wire::exec_record(kWho, {.time_ns = 2000, .program_start_ns = 1000}),
          wire::exit_record(kWho, {.time_ns = 3000}),
          wire::exit_record(kWho, {.time_ns = 3000, .late = wire::counted(1)}),
          wire::cgroup_record(5, "/a/b"),
          wire::cgroup_record(5, "/a/b", true),
          wire::thread_record(kWho, {.tid = 42}),
          wire::file_record(kFile),
          wire::oom_kill_record(kWho, 2500, "/a/b", 7),
          wire::file_use_record(kWho, {.path = "/a/b.bam"}),
          wire::file_use_record(kWho, {.path = "/a/b.tmp", .change = TRACER_FILE_RENAMED, .new_path = "/a/b.bam"}),
          wire::cgroup_end_record(5, 2500, 7),
          wire::syscall_use_record(kWho, 257, {.calls = 3, .failed = 1, .duration_ns = 900, .error = 2}),
          wire::gpu_use_record(kWho, tracer_gpu_sums{1, 4096, 0, 0, 0, 0, 0}, "/usr/lib/libcuda.so.1")};
}

void set_header(Bytes& bytes, std::uint16_t kind, std::uint32_t size) {
  tracer_wire_header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  header.kind = kind;
  header.size = size;
  std::memcpy(bytes.data(), &header, sizeof header);
}

ExitRecord exit_with(std::uint32_t code) { return as<ExitRecord>(wire::exit_record(kWho, {.exit_code = code})); }

}  // namespace

TEST_CASE("a start record tells who began and as whose child") {
  const auto record = as<StartRecord>(wire::start_record(kWho, 0, 1001));
  CHECK(record.identity.pid == 42);
  CHECK(record.identity.start_ns == 1000);
  CHECK(record.identity.time_ns == 1001);
  CHECK(record.identity.parent_pid == 7);
  CHECK(record.identity.parent_start_ns == 500);
  CHECK(record.identity.uid == 33);
  CHECK(record.identity.context_id == 3);
  CHECK(record.identity.cgroup_id == 99);
  CHECK(record.identity.hierarchy == Hierarchy::kV1Pids);
  CHECK(record.identity.pid_namespace == 4026531836);
  CHECK(record.identity.mount_namespace == 4026531840);
  CHECK(record.identity.comm == "sh");
  CHECK_FALSE(record.attached_ns.has_value());
}

TEST_CASE("what a record leaves as before is absent") {
  Who who = kWho;
  who.uid = TRACER_SAME_UID;
  who.pid_namespace = 0;
  who.mount_namespace = 0;
  who.comm = "";
  const RecordIdentity identity = as<StartRecord>(wire::start_record(who)).identity;
  CHECK_FALSE(identity.uid.has_value());
  CHECK_FALSE(identity.pid_namespace.has_value());
  CHECK_FALSE(identity.mount_namespace.has_value());
  CHECK(identity.comm.empty());
}

TEST_CASE("a comm without an end is taken whole and no further") {
  Who who = kWho;
  who.comm = "0123456789abcdefBEYOND";
  CHECK(as<StartRecord>(wire::start_record(who)).identity.comm == "0123456789abcdef");
}

TEST_CASE("a process that lived before is attached at its record's time") {
  CHECK(as<StartRecord>(wire::start_record(kWho, TRACER_FLAG_ADOPTED_LIFE, 9000)).attached_ns == 9000);
}

TEST_CASE("an exec record's paths come leaf first and are turned round") {
  const auto record = as<ExecRecord>(wire::exec_record(kWho, {.time_ns = 2000,
                                                              .program_start_ns = 1500,
                                                              .total = wire::counted(2),
                                                              .peak_pages = 12,
                                                              .flags = TRACER_FLAG_EXECUTED}));
  CHECK(record.text.exe == "/usr/bin/samtools");
  CHECK(record.text.cwd == "/data");
  CHECK(record.text.argv == std::vector<std::string>{"samtools", "sort"});
  CHECK_FALSE(record.text.argv_cut_bytes.has_value());
  CHECK(record.ended_start_ns == 1500);
  CHECK(record.total.written_bytes == 22);
  CHECK(record.ended_peak_pages == 12);
  CHECK(record.flags == RecordFlags{.executed = true});
}

TEST_CASE("the root folder has no components") {
  CHECK(as<ExecRecord>(wire::exec_record(kWho, {.cwd = "/"})).text.cwd == "/");
}

TEST_CASE("a path whose beginning is missing says so") {
  const auto record = as<ExecRecord>(
      wire::exec_record(kWho, {.exe = "/b/c", .cwd = "/d", .flags = TRACER_FLAG_EXE_CUT | TRACER_FLAG_CWD_CUT}));
  CHECK(record.text.exe == "…/b/c");
  CHECK(record.text.cwd == "…/d");
}

TEST_CASE("empty arguments stay, and a vector without any is empty") {
  const std::vector<std::string> words = {"a", "", "b", ""};
  CHECK(as<ExecRecord>(wire::exec_record(kWho, {.argv = words})).text.argv == words);
  CHECK(as<ExecRecord>(wire::exec_record(kWho, {.argv = {}})).text.argv == std::vector<std::string>{});
}

TEST_CASE("an unreadable argument vector is absent, not empty") {
  const auto record = as<ExecRecord>(wire::exec_record(kWho, {.argv = {}, .flags = TRACER_FLAG_ARGV_UNREADABLE}));
  CHECK_FALSE(record.text.argv.has_value());
}

TEST_CASE("a last argument without its end is taken whole") {
  CHECK(as<ExecRecord>(wire::exec_record(kWho, {}, std::string("a\0bc", 4))).text.argv ==
        std::vector<std::string>{"a", "bc"});
}

TEST_CASE("a long argument vector is marked where it is cut, within the word that the cut is in") {
  std::string head = std::string("cat\0", 4) + std::string(TRACER_ARGV_HEAD_BYTES - 4, 'x');
  std::string tail = std::string(TRACER_ARGV_TAIL_BYTES - 5, 'y') + std::string("\0end\0", 5);
  const auto record = as<ExecRecord>(wire::exec_record(kWho, {.argv_total = 10'000}, head + tail));
  REQUIRE(record.text.argv.has_value());
  const std::vector<std::string>& argv = *record.text.argv;
  REQUIRE(argv.size() == 3);
  CHECK(argv[0] == "cat");
  CHECK(argv[1] == std::string(TRACER_ARGV_HEAD_BYTES - 4, 'x') + "…" + std::string(TRACER_ARGV_TAIL_BYTES - 5, 'y'));
  CHECK(argv[2] == "end");
  CHECK(record.text.argv_cut_bytes == 10'000 - 4096);
}

TEST_CASE("a cut between two words is marked in front of what follows it") {
  const std::string head = std::string(TRACER_ARGV_HEAD_BYTES - 1, 'x') + '\0';
  const std::string tail = std::string(TRACER_ARGV_TAIL_BYTES - 1, 'y') + '\0';
  const auto record = as<ExecRecord>(wire::exec_record(kWho, {.argv_total = 10'000}, head + tail));
  CHECK(record.text.argv == std::vector<std::string>{std::string(TRACER_ARGV_HEAD_BYTES - 1, 'x'),
                                                     "…" + std::string(TRACER_ARGV_TAIL_BYTES - 1, 'y')});
}

TEST_CASE("a vector of just the most bytes is not cut") {
  const auto record = as<ExecRecord>(wire::exec_record(kWho, {}, std::string(4095, 'x') + '\0'));
  CHECK(record.text.argv == std::vector<std::string>{std::string(4095, 'x')});
  CHECK_FALSE(record.text.argv_cut_bytes.has_value());
}

TEST_CASE("an exit status, a signal and a core dump are told apart") {
  CHECK(exit_with(0).exit_code == 0);
  CHECK_FALSE(exit_with(0).exit_signal.has_value());
  CHECK(exit_with(3 << 8).exit_code == 3);
  CHECK(exit_with(255 << 8).exit_code == 255);
  CHECK_FALSE(exit_with(3 << 8).core_dumped);
  CHECK(exit_with(9).exit_signal == 9);
  CHECK_FALSE(exit_with(9).exit_code.has_value());
  CHECK_FALSE(exit_with(9).core_dumped);
  CHECK(exit_with(11 | 0x80).exit_signal == 11);
  CHECK(exit_with(11 | 0x80).core_dumped);
}

TEST_CASE("an exit record carries its accounts, and those of stragglers if it says so") {
  const auto plain = as<ExitRecord>(wire::exit_record(kWho, {.time_ns = 3000,
                                                             .program_start_ns = 2000,
                                                             .threads = 4,
                                                             .total = wire::counted(3),
                                                             .peak_pages = 8,
                                                             .read_before_exec_bytes = 17,
                                                             .attached_ns = 900}));
  CHECK(plain.total.cpu_ns == 300);
  CHECK(plain.late.cpu_ns == 0);
  CHECK(plain.threads == 4);
  CHECK(plain.program_start_ns == 2000);
  CHECK(plain.peak_pages == 8);
  CHECK(plain.read_before_exec_bytes == 17);
  CHECK(plain.attached_ns == 900);
  const auto late = as<ExitRecord>(wire::exit_record(kWho, {.late = wire::counted(1)}));
  CHECK(late.late.cpu_ns == 100);
  CHECK_FALSE(late.attached_ns.has_value());
  CHECK_FALSE(as<ExitRecord>(wire::exit_record(kWho, {.flags = TRACER_FLAG_THREADS_UNKNOWN})).threads.has_value());
}

TEST_CASE("a cgroup's path comes plain or leaf first") {
  CHECK(as<CgroupRecord>(wire::cgroup_record(5, "/a/b")).path == "/a/b");
  CHECK(as<CgroupRecord>(wire::cgroup_record(5, "/a/b", true)).path == "/a/b");
  CHECK(as<CgroupRecord>(wire::cgroup_record(5, "/", true)).path == "/");
  CHECK(as<CgroupRecord>(wire::cgroup_record(5, std::string("/a\0junk", 7))).path == "/a");
  CHECK(as<CgroupRecord>(wire::cgroup_record(5, "/a", false, TRACER_HIERARCHY_V1_MEMORY)).hierarchy ==
        Hierarchy::kV1Memory);
}

TEST_CASE("a thread's record adds what ended threads did to its own") {
  const auto record = as<ThreadRecord>(wire::thread_record(kWho, {.tid = 42,
                                                                  .own = wire::counted(1),
                                                                  .ended = wire::counted(2),
                                                                  .attached_ns = 900,
                                                                  .flags = TRACER_FLAG_LOST_THREADS,
                                                                  .newly_adopted = 1}));
  CHECK(record.sum.cpu_ns == 300);
  CHECK(record.sum.storage_cancelled_bytes == 48);
  CHECK(record.attached_ns == 900);
  CHECK(record.flags == RecordFlags{.lost_threads = true});
  CHECK(record.newly_adopted);
  CHECK_FALSE(as<ThreadRecord>(wire::thread_record(kWho, {.tid = 43})).newly_adopted);
}

TEST_CASE("a thread without a number is a first thread that is dead") {
  CHECK(as<ThreadRecord>(wire::thread_record(kWho, {.tid = 42})).lives);
  const auto dead = as<ThreadRecord>(wire::thread_record(kWho, {.tid = 0, .ended = wire::counted(2)}));
  CHECK_FALSE(dead.lives);
  CHECK(dead.sum.cpu_ns == 200);
}

TEST_CASE("a thread's record carries its waits, its state, and memory if it says so") {
  tracer_wire_waits waits{};
  waits.wait_ns[TRACER_WAIT_THROTTLED] = 7;
  waits.limits_known = 1;
  const auto record = as<ThreadRecord>(wire::thread_record(
      kWho, {.tid = 42, .waits = waits, .anonymous_pages = 12, .state = TRACER_STATE_UNINTERRUPTIBLE}));
  CHECK(record.waits.of(WaitCause::kThrottled) == 7);
  CHECK(record.waits.limits_known == 1);
  CHECK(record.state == ThreadState::kUninterruptible);
  REQUIRE(record.memory.has_value());
  CHECK(record.memory->anonymous_pages == 12);
  CHECK_FALSE(as<ThreadRecord>(wire::thread_record(kWho, {.tid = 42})).memory.has_value());
}

TEST_CASE("a file's record tells which it is and how far its reader has come") {
  const auto record = as<FileRecord>(wire::file_record(kFile));
  CHECK(record.pid == 42);
  CHECK(record.start_ns == 1000);
  CHECK(record.time_ns == 2000);
  CHECK(record.inode == 5);
  CHECK(record.size_bytes == 300);
  CHECK(record.position_bytes == 100);
  CHECK(record.device == 7);
  CHECK(record.fd == 3);
  CHECK(record.readable);
  CHECK_FALSE(record.writable);
  CHECK(record.name == "reads.bam");
}

TEST_CASE("each bit of the kernel's flags is told as what it means, and the others as nothing") {
  const auto flags_of = [](std::uint32_t bits) {
    return as<ThreadRecord>(wire::thread_record(kWho, {.tid = 42, .flags = bits})).flags;
  };
  CHECK(flags_of(TRACER_FLAG_ADOPTED_LIFE) == RecordFlags{.lived_before = true});
  CHECK(flags_of(TRACER_FLAG_LOST_THREADS) == RecordFlags{.lost_threads = true});
  CHECK(flags_of(TRACER_FLAG_EXECUTED) == RecordFlags{.executed = true});
  CHECK(flags_of(TRACER_FLAG_PEAK_EXACT) == RecordFlags{.peak_exact = true});
  CHECK(flags_of(TRACER_FLAG_PEAK_SHARED) == RecordFlags{.borrows_memory = true});
  CHECK(flags_of(TRACER_FLAG_THREADS_PENDING) == RecordFlags{.threads_pending = true});
  CHECK(flags_of(TRACER_FLAG_CPU_STALE) == RecordFlags{.cpu_stale = true});
  CHECK(flags_of(TRACER_FLAG_COPY) == RecordFlags{.copy = true});
  CHECK(flags_of(TRACER_FLAG_ADOPTED | TRACER_FLAG_EXCLUDED | TRACER_FLAG_EXE_CUT) == RecordFlags{});
}

TEST_CASE("a state that is not known is absent") {
  CHECK_FALSE(as<ThreadRecord>(wire::thread_record(kWho, {.tid = 42, .state = 99})).state.has_value());
}

TEST_CASE("a cgroup of no hierarchy is malformed") {
  Who who = kWho;
  who.hierarchy = 3;
  CHECK_FALSE(decoded(wire::start_record(who)).has_value());
  CHECK_FALSE(decoded(wire::thread_record(who, {.tid = 42})).has_value());
  CHECK_FALSE(decoded(wire::cgroup_record(5, "/a", false, 3)).has_value());
}

TEST_CASE("one that is taken in as it executes says so") {
  CHECK(as<StartRecord>(wire::start_record(kWho, TRACER_FLAG_ADOPTED_LIFE | TRACER_FLAG_AT_EXEC)).executing);
  CHECK_FALSE(as<StartRecord>(wire::start_record(kWho, TRACER_FLAG_ADOPTED_LIFE)).executing);
}

TEST_CASE("what could not be decoded is counted as a loss, what could as a record") {
  struct Nothing final : Feed {
    void record(const Record&) override { throw std::bad_alloc(); }
    void event(Event) override {}
    void snapshot_end(std::uint64_t) override {}
  } feed;
  Decoder decoder;
  Bytes unknown = wire::start_record(kWho);
  set_header(unknown, 17, static_cast<std::uint32_t>(unknown.size()));
  decoder.feed(unknown, feed);
  decoder.feed({}, feed);
  decoder.feed(wire::start_record(kWho), feed);
  Counters counters;
  decoder.add_to(counters);
  CHECK(counters.records == 3);
  CHECK(counters.record_bytes == 2 * unknown.size());
  CHECK(counters.losses == std::map<std::string, std::uint64_t>{
                               {"record_malformed", 1}, {"record_unknown_kind", 1}, {"out_of_memory", 1}});
}

TEST_CASE("a record cut at any length is malformed and nothing beyond it is read") {
  for (const Bytes& whole : one_of_each_kind()) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      CAPTURE(size);
      for (const bool honest : {false, true}) {
        if (honest && size < sizeof(tracer_wire_header)) continue;
        if (honest) bytes = wire::sized(bytes);
        Decoder decoder;
        const wire::Exact exact(bytes);
        CHECK_FALSE(collect::decoded(decoder, exact.span()).has_value());
        CHECK(decoder.malformed() == 1);
        CHECK(decoder.unknown_kinds() == 0);
      }
    }
    CHECK(decoded(whole).has_value());
  }
}

TEST_CASE("bytes after a record's own size are not its own") {
  Bytes bytes = wire::exec_record(kWho, {});
  const auto size = static_cast<std::uint32_t>(bytes.size());
  wire::append_text(bytes, "more");
  CHECK(as<ExecRecord>(bytes).text.argv == std::vector<std::string>{"samtools", "sort"});
  set_header(bytes, TRACER_WIRE_PROCESS_EXEC, size - 1);
  CHECK_FALSE(decoded(bytes).has_value());
}

TEST_CASE("a header that lies about the size is malformed") {
  for (const std::uint32_t size : {0u, 1u, 31u, 1'000'000u, 0xffffffffu}) {
    Bytes bytes = wire::start_record(kWho);
    set_header(bytes, TRACER_WIRE_PROCESS_START, size);
    CAPTURE(size);
    CHECK_FALSE(decoded(bytes).has_value());
  }
}

TEST_CASE("sizes of parts that do not fit are malformed, however large") {
  Bytes exec = wire::exec_record(kWho, {});
  const std::uint32_t huge = 0xfffffff0u;
  std::memcpy(exec.data() + offsetof(tracer_wire_process_exec, argv_size), &huge, sizeof huge);
  CHECK_FALSE(decoded(exec).has_value());
}

TEST_CASE("unknown kinds are counted apart") {
  Decoder decoder;
  for (const std::uint16_t kind : {std::uint16_t{0}, std::uint16_t{17}, std::uint16_t{0xffff}}) {
    Bytes bytes = wire::start_record(kWho);
    set_header(bytes, kind, static_cast<std::uint32_t>(bytes.size()));
    CHECK_FALSE(collect::decoded(decoder, bytes).has_value());
  }
  CHECK(decoder.unknown_kinds() == 3);
  CHECK(decoder.malformed() == 0);
}
