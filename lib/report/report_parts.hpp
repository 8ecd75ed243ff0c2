// SPDX-License-Identifier: Apache-2.0
/// The parts of a report besides its rows, each of their keys described once. JSON, C, the classes of Python and the
/// tables of docs/report.md follow from it. Parts of events, such as findings, are described in event_schema.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tracer/report.hpp>

#include "base/tool_name.hpp"
#include "report/report_part.hpp"
#include "report/sums/touched.hpp"
#include "report/waste.hpp"

namespace tracer::internal {

inline std::optional<std::string> text_or_absent(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

inline std::optional<std::string> known_tool_of(const std::shared_ptr<const Process>& process) {
  return process ? known_tool(*process->program) : std::nullopt;
}

template <double Pipeline::*kShare>
struct WithBottleneck {
  std::optional<double> operator()(const Pipeline& pipe) const {
    return pipe.bottleneck.empty() ? std::nullopt : std::optional(pipe.*kShare);
  }
};
template <auto kMember>
struct HighestOf {
  auto operator()(const CgroupMemory& memory) const { return memory.highest.*kMember; }
};
template <auto kMember>
struct OfGpuTool {
  auto operator()(const BusyGpu& gpu) const {
    return gpu.tool.empty() ? std::remove_cvref_t<decltype(gpu.*kMember)>() : gpu.*kMember;
  }
};
/// Of one that has finished, or has not.
template <bool kFinished>
struct EndOf {
  std::optional<std::uint64_t> operator()(const PathTask& task) const {
    return task.finished == kFinished ? std::optional(task.end_ns) : std::nullopt;
  }
};
template <Waste::Part Waste::*kPart>
struct TasksOf {
  std::optional<std::uint64_t> operator()(const Waste& waste) const {
    return (waste.*kPart).tasks == 0 ? std::nullopt : std::optional((waste.*kPart).tasks);
  }
};
template <Waste::Part Waste::*kPart, double (Waste::Part::*kHours)() const>
struct HoursOf {
  std::optional<double> operator()(const Waste& waste) const {
    return (waste.*kPart).tasks == 0 ? std::nullopt : std::optional(((waste.*kPart).*kHours)());
  }
};
template <auto kPart, auto kMember>
struct OfRequested {
  auto operator()(const RequestedUse& use) const {
    const auto& part = use.*kPart;
    using Known = std::optional<std::remove_cvref_t<decltype((*part).*kMember)>>;
    return part ? Known((*part).*kMember) : Known();
  }
};

template <>
struct ReportPart<TimeShare> {
  static constexpr const char* kName = "time";
  static constexpr const char* kClass = "TimeShare";
  static constexpr const char* kWhat = "The part of the lives of all processes that went to one cause.";
  static constexpr auto keys = std::tuple(
      part_key(
          "cause", [](const TimeShare& share) { return to_string(share.cause); }, "", "never",
          "\"CPU\", \"run queue\", \"CPU limit\", \"disk\", \"pipe\", \"network\", \"local socket\", \"lock\", "
          "\"child\", "
          "\"sleep\", \"events\", \"memory\", \"stopped\", \"other\", or, of runs, steps and tasks, \"CPU or wait\": "
          "time in which something of it ran, or all waited; [the bounds](fields.md#task-ledger) of `computing_ns` are "
          "so far apart, and \"CPU\" is what is certain"),
      part_key("time_ns", &TimeShare::time_ns, "ns", "never", "spent by all of its processes, added up"),
      part_key("share", &TimeShare::share, "share", "never",
               "of their lives, 0 to 1; with `task_ledger`, of the wall time"));
};

template <>
struct ReportPart<PathTask> {
  static constexpr const char* kName = "critical_path.tasks";
  static constexpr const char* kClass = "PathTask";
  static constexpr const char* kWhat = "A task on the critical path of its run.";
  static constexpr auto keys =
      std::tuple(part_key("task_key", &PathTask::task_key, "", "never", "the task's key"),
                 part_key("name", &PathTask::name, "", "never", "for people: \"align (S1)\"; \"?\": it has none"),
                 part_key("begin_ns", &PathTask::begin_ns, "ns", "never", "when it began"),
                 part_key("end_ns", EndOf<true>(), "ns", "it has not ended", "when it ended"),
                 part_key("last_ns", EndOf<false>(), "ns", "it has ended", "the time of the last event"));
};

template <>
struct ReportPart<CriticalPath> {
  static constexpr const char* kName = "critical_path";
  static constexpr const char* kClass = "CriticalPath";
  static constexpr const char* kWhat =
      "The tasks that a run could not have been shorter than: each read a file that the one before it had written, and "
      "began when that had ended.";
  static constexpr auto keys = std::tuple(
      part_key(
          "basis", [](const CriticalPath& path) { return std::string_view(path.by_files ? "files" : "longest task"); },
          "", "never",
          "\"files\": by the files that tasks passed on; or \"longest task\": which task needed which is not known, "
          "and "
          "the longest one stands for all"),
      part_key("length_ns_at_least", &CriticalPath::at_least_ns, "ns", "never",
               "what its tasks took in all. What tasks pass on in other ways is not seen"),
      part_key("length_ns_at_most", &CriticalPath::at_most_ns, "ns", "never",
               "the longest chain of tasks that did not overlap, whatever they needed"),
      part_key("tasks", &CriticalPath::tasks, "objects", "never", "in their order: [below](#critical_pathtasks)"));
};

template <>
struct ReportPart<RecordingDamage> {
  static constexpr const char* kName = "damage";
  static constexpr const char* kClass = "Damage";
  static constexpr const char* kWhat = "What of a recording could not be read.";
  static constexpr auto keys = std::tuple(
      part_key("skipped_bytes", &RecordingDamage::skipped_bytes, "bytes", "never",
               "in frames that are cut, fail their checksum or break a rule of the format"),
      part_key("skipped_events", &RecordingDamage::skipped_events, "", "never",
               "in intact frames: of newer kinds, or larger than their bytes may hold"),
      part_key("missing_frames", &RecordingDamage::missing_frames, "", "never",
               "by their numbers; a damaged frame is among them"),
      part_key("read_error", &RecordingDamage::read_error, "", "never",
               "the errno of the read that failed: nothing after it was read. 0: none failed"),
      part_key("truncated", &RecordingDamage::truncated, "", "never",
               "the recording has no end, and no sign of a next file: it is still being written, or was cut short"));
};

template <>
struct ReportPart<FamilyState> {
  static constexpr const char* kName = "missing";
  static constexpr const char* kClass = "MissingFamily";
  static constexpr const char* kWhat = "A requested family that the kernel does not provide, wholly or in part.";
  static constexpr auto keys = std::tuple(
      part_key(
          "family", [](const FamilyState& state) { return to_string(state.family); }, "", "never",
          "its name, such as \"waits\": see `tracerd check`"),
      part_key("active", &FamilyState::active, "", "never", "part of it is there"),
      part_key(
          "code",
          [](const FamilyState& state) {
            return state.problem ? std::optional<std::string>(to_string(state.problem->code)) : std::nullopt;
          },
          "", "not known", "such as \"TRC104\"; [docs/errors.md](errors.md) explains each"),
      part_key(
          "what",
          [](const FamilyState& state) { return state.problem ? std::optional(state.problem->what) : std::nullopt; },
          "", "not known", "what is wrong"),
      part_key(
          "fix",
          [](const FamilyState& state) { return state.problem ? std::optional(state.problem->fix) : std::nullopt; }, "",
          "not known", "what helps"));
};

template <>
struct ReportPart<Completeness> {
  static constexpr const char* kName = "certificate";
  static constexpr const char* kClass = "Certificate";
  static constexpr const char* kWhat =
      "How complete a report is: what is there, what is missing, and what is still right.";
  static constexpr auto keys = std::tuple(
      part_key(
          "tier", [](const Completeness& certificate) { return to_string(certificate.tier); }, "", "never",
          "\"kernel\" or \"proc\": of a session on this host, by the kernel's reports or by [polling](tiers.md). "
          "\"service\": of a session whose events came from a running `tracerd serve`; `ended` counts the processes "
          "that the session followed, and the line `total` is made of events, as no kernel could be asked. "
          "\"recording\": of a recording, or another source of events"),
      part_key("complete", &Completeness::complete, "", "never",
               "each process that ended was seen, and nothing was lost or damaged"),
      part_key("exits_seen", &Completeness::exits_seen, "", "never", "ends of processes in the events"),
      part_key("ended", &Completeness::ended, "",
               "a recording has no end, or events of a service are missing (`service_gap`, or events that it or its "
               "client dropped)",
               "processes that ended, by the count of the kernel"),
      part_key("losses", &Completeness::losses, "object", "never",
               "what was lost, by cause; [docs/losses.md](losses.md) explains each"),
      part_key("damage", &Completeness::damage, "object", "never",
               "what of the recording could not be read: [below](#damage)"),
      part_key("rows_are_whole", &Completeness::rows_are_whole, "", "never",
               "nothing is missing that rows add up: they are whole where their bounds say so. If false, all sums in "
               "rows are lower bounds"),
      part_key("total_is_whole", &Completeness::total_is_whole, "", "never",
               "the same of the total, which the kernel of a session added up beside the events that were lost"),
      part_key("missed_at_most", &Completeness::missed_at_most, "", "processes were not polled",
               "at most so many processes lived too shortly to be seen, by the kernel's count of forks: see "
               "[docs/tiers.md](tiers.md). If it is there, `complete` is false and sums are lower bounds"),
      part_key("attached", &Completeness::attached, "", "never",
               "processes that lived before the session: their figures begin when they were attached"),
      part_key("cpu_before_ns", &Completeness::cpu_before_ns, "ns", "never", "CPU time that these had used until then"),
      part_key("handed_over", &Completeness::handed_over, "object", "never",
               "calls that handed work to daemons that were not followed, by daemon: what these ran is in no figure "
               "(`rules/daemons.toml`)"),
      part_key("missing", &Completeness::missing, "objects", "never",
               "families that were asked for, but are not there, or not all of them: [below](#missing)"));
};

template <>
struct ReportPart<Failure> {
  static constexpr const char* kName = "failures";
  static constexpr const char* kClass = "Failure";
  static constexpr const char* kWhat =
      "Processes of one tool that failed in the same way, in which the failures began. Parents that ended with the "
      "same status passed them on and are not failures of their own.";
  static constexpr auto keys =
      std::tuple(part_key(
                     "process", [](const Failure& failure) -> const Process& { return *failure.process; }, "", "",
                     "what the first of them runs"),
                 part_key(
                     "context", [](const Failure& failure) -> const Context& { return *failure.process->context; }, "",
                     "", "where it belongs"),
                 part_key("exit_code", &Failure::exit_code, "", "it ended by a signal", "its status"),
                 part_key("exit_signal", &Failure::exit_signal, "", "it did not end by a signal", "the signal"),
                 part_key("core_dumped", &Failure::core_dumped, "", "never", "a core was dumped"),
                 part_key("exit_signal_sender", &Failure::exit_signal_sender, "", "not known",
                          "who sent the signal, as in [`process_exit`](fields.md)"),
                 part_key("oom_killed", &Failure::oom_killed, "", "unknown, as in `process_exit`",
                          "the kernel killed it because memory had run out"),
                 part_key(
                     "sent_by", [](const Failure& failure) { return known_tool_of(failure.sent_by); }, "",
                     "the kernel sent it, or not known", "the tool that sent the signal"),
                 part_key("count", &Failure::count, "", "never", "how many failed so"),
                 part_key("passed_on", &Failure::passed_on, "", "never",
                          "the part of `count` where all of what is known above ended with it"),
                 part_key("ignored", &Failure::ignored, "", "never",
                          "the part of `count` where a parent, or one above, went on or ended otherwise"),
                 part_key(
                     "passed_on_by",
                     [](const Failure& failure) {
                       std::vector<std::string> tools;
                       for (const auto& process : failure.passed_on_by)
                         tools.push_back(known_tool_of(process).value_or("?"));
                       return tools;
                     },
                     "", "none, or not known", "tools that passed on the first, from its parent on up, at most 8"),
                 part_key(
                     "ignored_by", [](const Failure& failure) { return known_tool_of(failure.ignored_by); }, "",
                     "nobody, or not known", "the tool that ignored the first"));
};

template <>
struct ReportPart<Excused> {
  static constexpr const char* kName = "excused";
  static constexpr const char* kClass = "Excused";
  static constexpr const char* kWhat = "How many ends by a signal, or with a status other than 0, are no failures.";
  static constexpr auto keys =
      std::tuple(part_key("reader_had_enough", &Excused::reader_had_enough, "", "never",
                          "processes that wrote to a pipe or socket that nobody read any more"),
                 part_key("ended_by_starter", &Excused::ended_by_starter, "", "never",
                          "processes that one above them ended by a signal, such as the workers of a pool"));
};

template <>
struct ReportPart<Survivor> {
  static constexpr const char* kName = "survivors";
  static constexpr const char* kClass = "Survivor";
  static constexpr const char* kWhat = "A process that has not ended, as its last sample saw it.";
  static constexpr auto keys = std::tuple(
      part_key(
          "process", [](const Survivor& survivor) -> const Process& { return *survivor.sample.process; }, "", "",
          "what it runs"),
      part_key(
          "context", [](const Survivor& survivor) -> const Context& { return *survivor.sample.process->context; }, "",
          "", "where it belongs"),
      part_key("begin_ns", &Survivor::begin_ns, "ns", "never",
               "when it began, as in [`process_exit`](fields.md): `start_ns`, or the exec of a command that was held "
               "until then"),
      part_key(
          "time_ns", [](const Survivor& survivor) { return survivor.sample.time_ns; }, "ns", "never",
          "when it was sampled"),
      part_key(
          "cpu_ns", [](const Survivor& survivor) { return survivor.sample.account.cpu_ns; }, "ns", "not known",
          "CPU time until then"),
      part_key(
          "read_bytes", [](const Survivor& survivor) { return bytes_read(survivor.sample.account); }, "bytes",
          "not known", "until then. It may be a bound"),
      part_key(
          "written_bytes", [](const Survivor& survivor) { return bytes_written(survivor.sample.account); }, "bytes",
          "not known", "until then. It may be a bound"));
};

template <>
struct ReportPart<Pipeline> {
  static constexpr const char* kName = "pipes";
  static constexpr const char* kClass = "Pipeline";
  static constexpr const char* kWhat =
      "Programs that pass data on through pipes, and which of them the others wait for.";
  static constexpr auto keys =
      std::tuple(part_key("stages", &Pipeline::stages, "", "never", "tools, from the first writer on"),
                 part_key(
                     "bottleneck", [](const Pipeline& pipe) { return text_or_absent(pipe.bottleneck); }, "",
                     "none stands out", "the stage that itself waits least for pipes"),
                 part_key("bottleneck_share", WithBottleneck<&Pipeline::bottleneck_share>(), "share",
                          "without `bottleneck`", "the part of its processes' lives that it waits for pipes, 0 to 1"),
                 part_key("others_share", WithBottleneck<&Pipeline::others_share>(), "share", "without `bottleneck`",
                          "the same of the other stages, all together"),
                 part_key("waited_ns", &Pipeline::waited_ns, "ns", "never", "for pipes, by all stages"));
};

template <>
struct ReportPart<CgroupMemory> {
  static constexpr const char* kName = "cgroups";
  static constexpr const char* kClass = "CgroupMemory";
  static constexpr const char* kWhat =
      "The most that was charged to a cgroup, and how much of it its processes explain.";
  static constexpr auto keys = std::tuple(
      part_key(
          "path", [](const CgroupMemory& memory) { return memory.highest.cgroup->path; }, "", "not known", "its path"),
      part_key(
          "peak_bytes",
          [](const CgroupMemory& memory) {
            return Figure{memory.peak_bytes, memory.peak_is_floor ? Bound::kAtLeast : Bound::kExact};
          },
          "bytes", "not known exactly: see `peak_bytes_at_least`",
          "the kernel's own mark, if it rose during the session; else the most of all snapshots"),
      part_key("followed_wholly", &CgroupMemory::followed_wholly, "", "never",
               "at each snapshot all processes in it were followed"),
      part_key("highest_ns", HighestOf<&CgroupSample::time_ns>(), "ns", "never",
               "the snapshot with the most memory; the following are of that time"),
      part_key("memory_bytes", HighestOf<&CgroupSample::memory_bytes>(), "bytes", "not known", "charged to it"),
      part_key("held_bytes", HighestOf<&CgroupSample::held_bytes>(), "bytes", "not known",
               "its processes hold together"),
      part_key("file_bytes", HighestOf<&CgroupSample::file_bytes>(), "bytes", "not known",
               "page cache, which can be dropped"),
      part_key("shmem_bytes", HighestOf<&CgroupSample::shmem_bytes>(), "bytes", "not known",
               "shared memory, and files on tmpfs"),
      part_key("kernel_bytes", HighestOf<&CgroupSample::kernel_bytes>(), "bytes", "not known", "memory of the kernel"),
      part_key("unexplained_bytes", HighestOf<&CgroupSample::unexplained_bytes>(), "bytes", "not known",
               "what none of these explains"));
};

template <>
struct ReportPart<BusyFile> {
  static constexpr const char* kName = "files";
  static constexpr const char* kClass = "BusyFile";
  static constexpr const char* kWhat = "A file among those that were read or written most, by all processes together.";
  static constexpr auto keys = std::tuple(
      part_key("path", &BusyFile::path, "", "never", "its path"),
      part_key(
          "read_by", [](const BusyFile& file) { return text_or_absent(file.read_by); }, "", "nobody is known to have",
          "the tool that read most of it"),
      part_key(
          "written_by", [](const BusyFile& file) { return text_or_absent(file.written_by); }, "",
          "nobody is known to have", "the tool that wrote most of it"),
      part_key("opens", &BusyFile::opens, "", "never", "opens, by all processes"),
      part_key(
          "read_bytes", [](const BusyFile& file) { return bytes_of(file, &BusyFile::read_bytes); }, "bytes",
          "not known exactly: see `read_bytes_at_least`", "sum over [`file_use`](fields.md#file_use)"),
      part_key(
          "written_bytes", [](const BusyFile& file) { return bytes_of(file, &BusyFile::written_bytes); }, "bytes",
          "not known exactly: see `written_bytes_at_least`", "sum over [`file_use`](fields.md#file_use)"));
};

template <>
struct ReportPart<BusyFileSystem> {
  static constexpr const char* kName = "file_systems";
  static constexpr const char* kClass = "BusyFileSystem";
  static constexpr const char* kWhat = "All files on file systems of one kind.";
  static constexpr auto keys = std::tuple(
      part_key("filesystem", &BusyFileSystem::filesystem, "", "never",
               "such as `ext4`, `nfs4` or `overlay`, as in [`file_use`](fields.md#file_use)"),
      part_key(
          "read_bytes", [](const BusyFileSystem& files) { return bytes_of(files, &BusyFileSystem::read_bytes); },
          "bytes", "not known exactly: see `read_bytes_at_least`", "sum over [`file_use`](fields.md#file_use)"),
      part_key(
          "written_bytes", [](const BusyFileSystem& files) { return bytes_of(files, &BusyFileSystem::written_bytes); },
          "bytes", "not known exactly: see `written_bytes_at_least`", "sum over [`file_use`](fields.md#file_use)"));
};

template <>
struct ReportPart<BusyPeer> {
  static constexpr const char* kName = "peers";
  static constexpr const char* kClass = "BusyPeer";
  static constexpr const char* kWhat = "Another machine that a tool exchanged data with, or failed to.";
  static constexpr auto keys = std::tuple(
      part_key("tool", &BusyPeer::tool, "", "never", "the tool; `others` are peers beyond those that are told apart"),
      part_key("protocol", &BusyPeer::protocol, "", "never", "`tcp` or `udp`"),
      part_key("role", &BusyPeer::role, "", "not known", "as in [`connection`](fields.md#connection)"),
      part_key("address", &BusyPeer::address, "", "not known", "as in [`connection`](fields.md#connection)"),
      part_key("port", &BusyPeer::port, "", "not known", "the peer's, or a server's own"),
      part_key("sent_bytes", &BusyPeer::sent_bytes, "bytes", "never", "sum over its connections"),
      part_key("received_bytes", &BusyPeer::received_bytes, "bytes", "never", "sum over its connections"),
      part_key("failed_connects", &BusyPeer::failed_connects, "", "never", "connects that failed"),
      part_key("error", &BusyPeer::error, "", "none failed", "the errno of the last that failed"));
};

template <>
struct ReportPart<BusyDevice> {
  static constexpr const char* kName = "devices";
  static constexpr const char* kClass = "BusyDevice";
  static constexpr const char* kWhat = "A block device, over all snapshots.";
  static constexpr auto keys = std::tuple(
      part_key("name", &BusyDevice::name, "", "never", "such as `vda`"),
      part_key("read_bytes", &BusyDevice::read_bytes, "bytes", "never", "for the whole host"),
      part_key("written_bytes", &BusyDevice::written_bytes, "bytes", "never", "for the whole host"),
      part_key("span_ns", &BusyDevice::span_ns, "ns", "never", "the time that all snapshots cover"),
      part_key("busy_ns", &BusyDevice::busy_ns, "ns", "the kernel does not count it", "with a request in flight"),
      part_key(
          "tool", [](const BusyDevice& device) { return text_or_absent(device.tool); }, "",
          "no followed process asked for anything", "the tool, with its task, that asked for most"),
      part_key(
          "task", [](const BusyDevice& device) { return device.tool.empty() ? std::nullopt : device.task; }, "",
          "no followed process asked for anything, or none is known", "the task of the tool"),
      part_key(
          "tool_bytes",
          [](const BusyDevice& device) {
            return device.tool.empty() ? std::nullopt : std::optional(device.tool_bytes);
          },
          "bytes", "no followed process asked for anything", "how much it asked for while it asked for most"));
};

template <>
struct ReportPart<BusyGpu> {
  static constexpr const char* kName = "gpus";
  static constexpr const char* kClass = "BusyGpu";
  static constexpr const char* kWhat = "A GPU, over all samples of followed processes.";
  static constexpr auto keys =
      std::tuple(part_key("gpu", &BusyGpu::gpu, "", "never", "such as `nvidia0` or `card0`"),
                 part_key("name", &BusyGpu::name, "", "not known", "the product's name, or the driver's"),
                 part_key("span_ns", &BusyGpu::span_ns, "ns", "never",
                          "the time that the samples cover, while a followed process used the GPU"),
                 part_key("busy_ns", &BusyGpu::busy_ns, "ns", "the driver does not report it",
                          "in this span, for all processes of the host"),
                 part_key("used_ns", &BusyGpu::used_ns, "ns", "the driver does not report it by process",
                          "in this span, the sum over followed processes"),
                 part_key("memory_peak_bytes", &BusyGpu::memory_peak_bytes, "bytes", "not known",
                          "the most that followed processes held together at a sample"),
                 part_key("capacity_bytes", &BusyGpu::capacity_bytes, "bytes", "not known", "the GPU's memory"),
                 part_key(
                     "tool", [](const BusyGpu& gpu) { return text_or_absent(gpu.tool); }, "", "not known",
                     "the tool whose process held the most; if no memory is known, that used it for longest"),
                 part_key("task", OfGpuTool<&BusyGpu::task>(), "", "not known", "the task of the tool"),
                 part_key("tool_peak_bytes", OfGpuTool<&BusyGpu::tool_peak_bytes>(), "bytes", "not known",
                          "the most that this process held"));
};

template <>
struct ReportPart<RequestedUse> {
  static constexpr const char* kName = "requested_use";
  static constexpr const char* kClass = "RequestedUse";
  static constexpr const char* kWhat =
      "What the tasks of a run or step requested, beside what they used: of those that ended, and of which both are "
      "known.";
  static constexpr auto kCpus = &RequestedUse::millicpus;
  static constexpr auto kMemory = &RequestedUse::memory_bytes;
  static constexpr auto keys = std::tuple(
      part_key("cpu_tasks", OfRequested<kCpus, &RequestedPart::tasks>(), "", "of no task both are known",
               "tasks that the next two are of"),
      part_key("requested_millicpus", OfRequested<kCpus, &RequestedPart::requested>(), "1/1000 CPU",
               "of no task both are known", "CPUs: the mean of the tasks, each by its wall time"),
      part_key("used_millicpus", OfRequested<kCpus, &RequestedPart::used>(), "1/1000 CPU", "of no task both are known",
               "the CPU time of these tasks / their wall times, added up"),
      part_key("memory_tasks", OfRequested<kMemory, &RequestedPart::tasks>(), "", "of no task both are known",
               "tasks that the next are of"),
      part_key("requested_memory_bytes", OfRequested<kMemory, &RequestedPart::requested>(), "bytes",
               "of no task both are known", "of the task whose memory came nearest to what it had requested"),
      part_key("used_memory_bytes", OfRequested<kMemory, &RequestedPart::used>(), "bytes", "of no task both are known",
               "the most that this task held"),
      part_key(
          "used_memory_bytes_at_most",
          [](const RequestedUse& use) { return use.memory_bytes ? use.memory_bytes->used_at_most : std::nullopt; },
          "bytes", "`used_memory_bytes` is exact, or not known", "an upper bound"));
};

template <>
struct ReportPart<Waste> {
  static constexpr const char* kName = "waste";
  static constexpr const char* kClass = "Waste";
  static constexpr const char* kWhat =
      "What tasks that ended requested and did not use, of those whose request and use are known.";
  static constexpr auto keys = std::tuple(
      part_key("cpu_tasks", TasksOf<&Waste::cpu_hours>(), "", "no task has a request whose use is known",
               "tasks that count in the CPU's part"),
      part_key("requested_cpu_hours", HoursOf<&Waste::cpu_hours, &Waste::Part::requested>(), "hours of one CPU",
               "no task has a request whose use is known", "requested CPUs × wall time"),
      part_key("unused_cpu_hours", HoursOf<&Waste::cpu_hours, &Waste::Part::unused>(), "hours of one CPU",
               "no task has a request whose use is known", "the part of it beyond the CPU time that was used"),
      part_key("memory_tasks", TasksOf<&Waste::memory_gib_hours>(), "", "no task has a request whose use is known",
               "tasks that count in the memory's part"),
      part_key("requested_memory_gib_hours", HoursOf<&Waste::memory_gib_hours, &Waste::Part::requested>(),
               "GiB × hours", "no task has a request whose use is known", "requested memory × wall time"),
      part_key("unused_memory_gib_hours", HoursOf<&Waste::memory_gib_hours, &Waste::Part::unused>(), "GiB × hours",
               "no task has a request whose use is known", "the part of it that even the task's peak did not use"));
};

template <>
struct ReportPart<ReportCost> {
  static constexpr const char* kName = "cost";
  static constexpr const char* kClass = "ReportCost";
  static constexpr const char* kWhat = "The cost of the tracing.";
  static constexpr auto keys = std::tuple(
      part_key("cpu_ns", &ReportCost::cpu_ns, "ns", "not recorded, as of one run that was taken out of a recording",
               "of the session: its start, reading, decoding, snapshots, callbacks; and the threads of recordings"),
      part_key("snapshots_cpu_ns", &ReportCost::snapshots_cpu_ns, "ns", "not known, as of recordings",
               "the part of it for snapshots"),
      part_key("kernel_ns", &ReportCost::kernel_ns, "ns", "the kernel does not measure it",
               "its programs in the kernel; and `tracer-gpu`"),
      part_key("memory_bytes", &ReportCost::memory_bytes, "bytes", "not known", "memory of the process that traces"),
      part_key("kernel_memory_bytes", &ReportCost::kernel_memory_bytes, "bytes", "not known", "its maps in the kernel"),
      part_key("start_cpu_ns", &ReportCost::start_cpu_ns, "ns", "not known, as of recordings",
               "the part of `cpu_ns` until the session had started: loading its programs"),
      part_key("cpu_share", &ReportCost::cpu_share, "of one CPU", "the session's length is not known",
               "CPU time since the start per elapsed time"));
};

template <class... Types>
struct PartList {};

/// All of them, parts before what they are in.
using ReportParts = PartList<TimeShare, PathTask, CriticalPath, RecordingDamage, FamilyState, Completeness, Failure,
                             Excused, Survivor, Pipeline, CgroupMemory, BusyFile, BusyFileSystem, BusyPeer, BusyDevice,
                             BusyGpu, RequestedUse, Waste, ReportCost>;

/// Calls `visit.template operator()<T>()` for each of them.
template <class Visit, class... Types>
void each_report_part(const Visit& visit, PartList<Types...>) {
  (visit.template operator()<Types>(), ...);
}
template <class Visit>
void each_report_part(const Visit& visit) {
  each_report_part(visit, ReportParts());
}

}  // namespace tracer::internal
