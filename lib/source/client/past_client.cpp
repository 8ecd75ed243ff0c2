// SPDX-License-Identifier: Apache-2.0
#include "source/client/past_client.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/past.hpp>

#include "source/client/connection.hpp"
#include "stream/recording_series.hpp"

namespace tracer {
namespace internal {
namespace {

/// One that names no further ones must not keep a client asking.
constexpr int kMostBatches = 4096;

RecordingsReply ask_batch(ServiceConnection& service, std::uint64_t since_ns, std::vector<UniqueFd>& passed) try {
  return recordings_from(service.ask(RecordingsRequest{since_ns}, passed));
} catch (const Error& error) {
  if (!is_unknown_request(error)) throw;
  throw Error({ErrorCode::kServiceRefused,
               0,
               "this service is of an earlier version, which shows no recordings",
               "ask the administrator to upgrade tracerd",
               {}});
}

std::vector<OpenRecording> opened(const std::vector<RecordingDescriptor>& files) {
  std::vector<OpenRecording> all;
  for (const RecordingDescriptor& file : files) all.push_back({UniqueFd(file.file_descriptor), file.name});
  return all;
}

}  // namespace

std::string name_of(const RecordingsReply::File& file) {
  return fmt::format("file {} of user {}", file.number, file.owner_uid);
}

std::vector<PassedFile> ask_past(const std::filesystem::path& socket, std::uint64_t since_unix_ns) {
  ServiceConnection service(socket);
  std::vector<PassedFile> files;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    std::vector<UniqueFd> passed;
    const RecordingsReply reply = ask_batch(service, since_unix_ns, passed);
    if (!reply.by_owner)
      throw Error({ErrorCode::kInvalidArgument,
                   0,
                   "this service keeps no recordings of its users",
                   "ask the administrator to set by_owner = true in [recordings] of /etc/tracer/tracerd.toml",
                   {}});
    if (passed.size() != reply.files.size())
      throw Error({ErrorCode::kServiceRefused,
                   0,
                   fmt::format("of {} recordings of the service, {} came", reply.files.size(), passed.size()),
                   "raise the limit of open files (ulimit -n)",
                   {}});
    for (std::size_t at = 0; at < passed.size(); ++at) files.push_back({reply.files[at], std::move(passed[at])});
    if (!reply.more || reply.next_ns <= since_unix_ns) break;
    since_unix_ns = reply.next_ns;
  }
  std::stable_sort(files.begin(), files.end(), [](const PassedFile& one, const PassedFile& other) {
    return one.about.written_ns > other.about.written_ns;
  });
  return files;
}

}  // namespace internal

std::vector<RecordingReader> open_recordings_by_descriptor(const std::vector<RecordingDescriptor>& files) {
  std::vector<RecordingReader> readers;
  for (internal::RecordingSeries& series : internal::series_of(internal::open_parts(internal::opened(files))))
    readers.push_back(internal::RecordingAccess::reader(std::move(series)));
  return readers;
}

RecordingReader open_recording_by_descriptor(const std::vector<RecordingDescriptor>& files) {
  return internal::RecordingAccess::reader(internal::only_series_of(internal::open_parts(internal::opened(files))));
}

std::vector<PastFile> past(const std::filesystem::path& socket, std::uint64_t since_unix_ns) {
  std::vector<PastFile> files;
  for (internal::PassedFile& each : internal::ask_past(socket, since_unix_ns))
    files.push_back({{each.fd.release(), internal::name_of(each.about)},
                     each.about.owner_uid,
                     each.about.session_id,
                     each.about.number,
                     each.about.bytes,
                     each.about.written_ns});
  return files;
}

}  // namespace tracer
