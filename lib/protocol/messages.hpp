// SPDX-License-Identifier: Apache-2.0
/// The requests and replies of the protocol between a service and its clients, and the JSON lines that they are sent
/// as: docs/protocol.md. The request_from(), … here throw Error(kServiceRefused) if a line makes no sense.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/context.hpp>
#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/families.hpp>
#include <tracer/filter.hpp>
#include <tracer/host.hpp>
#include <tracer/state.hpp>
#include <tracer/statistics.hpp>

namespace tracer::internal {

inline constexpr std::uint64_t kProtocolVersion = 1;
/// How deep objects and lists may lie in each other.
inline constexpr std::size_t kMaxJsonDepth = 16;
/// In one request: an announcement, which is the largest, may have a word for each of its bytes.
inline constexpr std::size_t kMostRequestValues = 64u << 10;
/// What a filter in a request may have.
inline constexpr std::size_t kMostFilterRules = 64;
inline constexpr std::size_t kMostGlobBytes = 256;
inline constexpr std::size_t kMostCgroupBytes = 4096;

/// Whether a request can have this filter, and mean the same.
bool fits_request(const Filter& filter);
/// As in a request, without the labels of rules: equal for equal rules.
std::string text_of(const Filter& filter);
/// Throws Error(kServiceRefused).
Filter filter_from(std::string_view text);

struct HelloRequest {
  static constexpr std::string_view kName = "hello";
  std::uint64_t version = kProtocolVersion;
};

struct AnnounceRequest {
  static constexpr std::string_view kName = "announce";
  Announcement announcement;
};

struct SubmitRequest {
  static constexpr std::string_view kName = "submit";
  Submission submission;
};

struct WithdrawRequest {
  static constexpr std::string_view kName = "withdraw";
  Withdrawal withdrawal;
};

struct AttachRequest {
  static constexpr std::string_view kName = "attach";
  pid_t pid = 0;
  Context context = {};
  bool command = false;  ///< Its program is a run, as that of SessionOptions::command_pid.
  bool held = false;  ///< It waits, as a copy of its parent, to execute a program: what it did before does not count.
  /// A stream whose filter takes it in from now on.
  std::optional<std::uint64_t> stream = {};
};

struct LabelRequest {
  static constexpr std::string_view kName = "label";
  pid_t tid = 0;
  Context context = {};
};

struct EndLabelRequest {
  static constexpr std::string_view kName = "end_label";
  std::uint64_t label = 0;
};

struct ResumeLabelRequest {
  static constexpr std::string_view kName = "resume_label";
  std::uint64_t label = 0;
  pid_t tid = 0;
};

struct UnlabelRequest {
  static constexpr std::string_view kName = "unlabel";
  pid_t tid = 0;
};

/// The process is the peer's own: `work.process` is not sent.
struct OwnWorkRequest {
  static constexpr std::string_view kName = "own_work";
  Context context = {};
  OwnWork work;
};

struct TotalsRequest {
  static constexpr std::string_view kName = "totals";
};

struct StatisticsRequest {
  static constexpr std::string_view kName = "statistics";
};

struct StatusRequest {
  static constexpr std::string_view kName = "status";
};

struct SnapshotRequest {
  static constexpr std::string_view kName = "snapshot";
};

struct StateRequest {
  static constexpr std::string_view kName = "state";
  StateQuery query = {};
};

struct FindingsRequest {
  static constexpr std::string_view kName = "findings";
  std::optional<std::uint64_t> since_ns = {};
};

struct HistoryRequest {
  static constexpr std::string_view kName = "history";
  std::optional<std::string> pipeline = {};  ///< Absent: all, as step.
  std::optional<std::string> step = {};
  std::optional<std::uint64_t> input_bytes = {};  ///< See History::expect().
};

struct RecordingsRequest {
  static constexpr std::string_view kName = "recordings";
  std::optional<std::uint64_t> since_ns = {};  ///< Those that were written then or later, by Unix time. Absent: all.
};

struct UsageRequest {
  static constexpr std::string_view kName = "usage";
};

struct FlushRequest {
  static constexpr std::string_view kName = "flush";
  std::optional<std::uint64_t> stream = {};  ///< A filtered one, whose numbers are wanted.
};

struct SubscribeRequest {
  static constexpr std::string_view kName = "subscribe";
  std::vector<EventKind> kinds = {};       ///< Empty: all.
  std::optional<std::uint64_t> from = {};  ///< The number of the first event that is wanted.
  bool living_first = false;               ///< Ignored with `from`.
  std::optional<std::uint64_t> capacity_bytes = {};
  Filter filter = {};                        ///< Without rules: all that may be seen. Its labels are not sent.
  std::optional<std::uint64_t> stream = {};  ///< With `from`: the filtered one that goes on.
};

using Request = std::variant<HelloRequest, AnnounceRequest, SubmitRequest, WithdrawRequest, AttachRequest, LabelRequest,
                             EndLabelRequest, ResumeLabelRequest, UnlabelRequest, OwnWorkRequest, TotalsRequest,
                             StatisticsRequest, StatusRequest, SnapshotRequest, StateRequest, FindingsRequest,
                             HistoryRequest, RecordingsRequest, UsageRequest, FlushRequest, SubscribeRequest>;

/// One line with its end.
std::string to_line(const Request& request);
Request request_from(std::string_view line);

struct HelloReply {
  std::uint64_t version = kProtocolVersion;
  std::string tracer_version = {};
  std::string session_id = {};
  std::uint32_t uid = 0;  ///< The client's, as the service sees it.
  bool sees_all = false;
  std::vector<FamilyState> families = {};
  HostInfo host = {};
  bool findings = false;  ///< They are among the events of a stream without a filter.
};

struct LabelReply {
  std::uint64_t label = 0;
};

struct SubmitReply {
  Key key = {};
  bool is_task = false;
};

struct TotalsReply {
  std::vector<ContextTotals> totals = {};
};

struct StatisticsReply {
  Statistics statistics = {};
};

struct SnapshotReply {
  std::vector<ProcessSample> processes = {};
};

struct FindingsReply {
  std::vector<Finding> findings = {};
};

/// The text of one JSON object.
struct StatusReply {
  std::string status = "{}";
};

/// Likewise.
struct StateReply {
  std::string state = "{}";
};

struct UsageReply {
  std::string usage = "{}";
};

struct HistoryReply {
  std::string history = "{}";
};

/// A descriptor of each file comes with it, in the same order.
struct RecordingsReply {
  struct File {
    std::uint32_t owner_uid = 0;
    std::string session_id = {};
    std::uint64_t number = 0;  ///< Among those of the session and owner; 0: not known.
    std::uint64_t bytes = 0;
    std::uint64_t written_ns = 0;  ///< When last, by Unix time.
  };
  bool by_owner = false;  ///< False: this service does not record by owner, and has no files for anybody.
  std::vector<File> files = {};
  bool more = false;          ///< There are further ones: ask again, since `next_ns`.
  std::uint64_t next_ns = 0;  ///< 0: none is here.
};

struct FlushReply {
  std::uint64_t sequence = 0;  ///< Of the last event that happened before the request; 0: there was none.
};

struct SubscribeReply {
  /// The number of the first event that follows those that say what lives. Events are numbered from 1, of all kinds,
  /// each that this uid may see; those that say what lives, and the Loss that stands for missing ones, have none.
  std::uint64_t sequence = 0;
  std::uint64_t missed = 0;  ///< How many from SubscribeRequest::from on are no longer there.
  std::uint64_t living = 0;  ///< How many events come first that say what lives.
  /// Of a filtered one: its own numbers count what the filter takes in.
  std::optional<std::uint64_t> stream = {};
};

/// A JSON list, as in the reply to a hello.
std::string families_text(const std::vector<FamilyState>& families);

/// One line with its end: {"ok":true}.
std::string ok_line();
std::string to_line(const HelloReply& reply);
std::string to_line(const SubmitReply& reply);
std::string to_line(const LabelReply& reply);
std::string to_line(const TotalsReply& reply);
std::string to_line(const StatisticsReply& reply);
std::string to_line(const SnapshotReply& reply);
std::string to_line(const FindingsReply& reply);
std::string to_line(const StatusReply& reply);
std::string to_line(const StateReply& reply);
std::string to_line(const UsageReply& reply);
std::string to_line(const HistoryReply& reply);
std::string to_line(const RecordingsReply& reply);
std::string to_line(const FlushReply& reply);
std::string to_line(const SubscribeReply& reply);
/// It is the refusal of a request that the service does not know.
bool is_unknown_request(const Error& error) noexcept;
/// {"ok":false,…} with the first problem; with kServiceVersion, also which versions are spoken.
std::string refusal_line(const Error& error);

/// What a client gets. All throw the service's own Error for a refusal; Error(kServiceRefused) if the line is no reply.
void expect_ok(std::string_view line);
HelloReply hello_from(std::string_view line);
Key submitted_from(std::string_view line);
LabelReply label_from(std::string_view line);
TotalsReply totals_from(std::string_view line);
StatisticsReply statistics_from(std::string_view line);
SnapshotReply snapshot_from(std::string_view line);
FindingsReply findings_from(std::string_view line);
StatusReply status_from(std::string_view line);
StateReply state_from(std::string_view line);
UsageReply usage_from(std::string_view line);
HistoryReply history_from(std::string_view line);
RecordingsReply recordings_from(std::string_view line);
FlushReply flush_from(std::string_view line);
SubscribeReply subscribe_from(std::string_view line);

}  // namespace tracer::internal
