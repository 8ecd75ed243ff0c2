// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tracer/answers.hpp>
#include <tracer/past.hpp>
#include <tracer/tier.hpp>

#include "event_handle.hpp"
#include "host_fields.hpp"
#include "recording_handle.hpp"
#include "session_state.hpp"
#include "sizes.hpp"

using namespace tracer;
using namespace tracer::c;

struct tracer_sink {
  Owner owner = {};
  SinkHandle handle;
};

namespace {

template <class Make>
tracer_status add_sink(tracer_session* session, const tracer_queue_options* options, tracer_sink** out,
                       tracer_error* error, Make&& make) {
  return guard_make(out, error, [&] {
    constexpr tracer_queue_options kDefaults = TRACER_QUEUE_OPTIONS_INIT;
    QueueOptions given = queue_options(take(options == nullptr ? &kDefaults : options, "options"));
    Session& running = need_own(session, "session").state->running();
    return new tracer_sink{Owner(), running.add_sink(make(running.host()), std::move(given))};
  });
}

tracer_status report(tracer_error* error, const std::optional<Problem>& problem) {
  if (!problem) return TRACER_OK;
  store(error, *problem);
  return status_of(problem->code);
}

std::string known(std::optional<std::string> answer, const std::string& asked) {
  if (answer) return std::move(*answer);
  throw Error({ErrorCode::kInvalidArgument,
               0,
               "the recording has nothing, or several things, called \"" + asked + '"',
               "ask by a run_key or task_key",
               {}});
}

}  // namespace

tracer_status tracer_session_record(tracer_session* session, tracer_string path, const tracer_queue_options* options,
                                    tracer_sink** out, tracer_error* error) {
  return add_sink(session, options, out, error,
                  [&](const HostInfo& host) { return recording_sink(std::filesystem::path(path_of(path)), host); });
}

tracer_status tracer_session_record_fd(tracer_session* session, int fd, tracer_string name,
                                       const tracer_queue_options* options, tracer_sink** out, tracer_error* error) {
  return add_sink(session, options, out, error, [&](const HostInfo& host) {
    std::string shown = text_or_empty(name, "name");
    return recording_sink(copy_of(fd, ErrorCode::kFileUnwritable), std::move(shown), host);
  });
}

tracer_status tracer_session_write_json(tracer_session* session, tracer_string path,
                                        const tracer_queue_options* options, tracer_sink** out, tracer_error* error) {
  return add_sink(session, options, out, error,
                  [&](const HostInfo& host) { return json_sink(std::filesystem::path(path_of(path)), host); });
}

tracer_status tracer_session_write_json_fd(tracer_session* session, int fd, tracer_string name,
                                           const tracer_queue_options* options, tracer_sink** out,
                                           tracer_error* error) {
  return add_sink(session, options, out, error, [&](const HostInfo& host) {
    std::string shown = text_or_empty(name, "name");
    return json_sink(copy_of(fd, ErrorCode::kFileUnwritable), std::move(shown), host);
  });
}

tracer_status tracer_sink_problem(const tracer_sink* sink, tracer_error* error) {
  return guard(error, [&] { return report(error, need_own(sink, "sink").handle.problem()); });
}

tracer_status tracer_sink_flush(tracer_sink* sink, int64_t timeout_ms, tracer_error* error) {
  return guard(error, [&]() -> tracer_status {
    SinkHandle& handle = need_own(sink, "sink").handle;
    if (handle.flush(limit_of(timeout_ms))) return TRACER_OK;
    const tracer_status status = report(error, handle.problem());
    return status == TRACER_OK ? TRACER_TIMED_OUT : status;
  });
}

tracer_status tracer_sink_close(tracer_sink* sink, tracer_error* error) {
  return guard(error, [&] { return report(error, need_own(sink, "sink").handle.close()); });
}

tracer_status tracer_sink_dropped(const tracer_sink* sink, uint64_t* out) {
  if (out != nullptr) *out = 0;
  return guard(nullptr, [&] {
    const SinkHandle& handle = need_own(sink, "sink").handle;
    need(out, "out") = handle.dropped();
  });
}

void tracer_sink_free(tracer_sink* sink) { free_own(sink); }

tracer_status tracer_session_host(const tracer_session* session, tracer_host* out) {
  return guard(nullptr, [&] { give(out, host_in_c(need_own(session, "session").state->session().host()), "out"); });
}

tracer_status tracer_recording_open(tracer_string path, tracer_recording** out, tracer_error* error) {
  return guard_make(out, error,
                    [&] { return new tracer_recording{RecordingReader(std::filesystem::path(path_of(path)))}; });
}

tracer_status tracer_recording_open_fd(int fd, tracer_string name, tracer_recording** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    std::string shown = text_or_empty(name, "name");
    return new tracer_recording{RecordingReader(copy_of(fd, ErrorCode::kFileUnreadable), std::move(shown))};
  });
}

tracer_status tracer_recording_open_files(const tracer_string* files, size_t count, tracer_recording** out,
                                          tracer_error* error) {
  return guard_make(out, error, [&] {
    std::vector<std::filesystem::path> paths;
    for (std::size_t i = 0; i < count; ++i) paths.emplace_back(path_of(files[i]));
    return new tracer_recording{open_recording(paths)};
  });
}

tracer_status tracer_recording_why_json(tracer_recording* recording, tracer_string asked, tracer_text** out,
                                        tracer_error* error) {
  return guard_make(out, error, [&] {
    const std::string text = text_or_empty(asked, "asked");
    return new tracer_text{known(why_json(need(recording, "recording").reader, text), text)};
  });
}

tracer_status tracer_recording_over_time_json(tracer_recording* recording, tracer_string key, tracer_text** out,
                                              tracer_error* error) {
  return guard_make(out, error, [&] {
    const std::string text = text_or_empty(key, "key");
    const auto of = key_from(text);
    return new tracer_text{known(of ? over_time_json(need(recording, "recording").reader, *of) : std::nullopt, text)};
  });
}

tracer_status tracer_recording_open_fds(const int* fds, size_t count, tracer_recording** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    std::vector<RecordingDescriptor> files;
    try {
      for (std::size_t i = 0; i < count; ++i)
        files.push_back({copy_of(fds[i], ErrorCode::kFileUnreadable), "descriptor " + std::to_string(fds[i])});
    } catch (const Error&) {
      for (const RecordingDescriptor& file : files) ::close(file.file_descriptor);
      throw;
    }
    return new tracer_recording{open_recording_by_descriptor(files)};
  });
}

void tracer_recording_free(tracer_recording* recording) { delete recording; }

tracer_status tracer_past_new(tracer_string socket, uint64_t since_unix_ns, tracer_past** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    const auto named = optional_text(socket, "socket");
    return new tracer_past(past(named ? std::filesystem::path(*named) : service_socket_to_try(), since_unix_ns));
  });
}

void tracer_past_free(tracer_past* past) { delete past; }

size_t tracer_past_count(const tracer_past* past) { return past == nullptr ? 0 : past->files.size(); }

tracer_status tracer_past_get(const tracer_past* past, size_t index, tracer_past_file* out) {
  return guard(nullptr, [&] {
    const std::vector<PastFile>& files = need(past, "past").files;
    if (index >= files.size())
      throw Error(
          {ErrorCode::kInvalidArgument, 0, "index: there are not so many files", "ask tracer_past_count()", {}});
    const PastFile& file = files[index];
    tracer_past_file value{};
    value.fd = file.opened.file_descriptor;
    value.owner_uid = file.owner_uid;
    value.session_id = string_of(file.session_id);
    value.number = file.number;
    value.bytes = file.bytes;
    value.written_unix_ns = file.written_unix_ns;
    give(out, value, "out");
  });
}

tracer_status tracer_recording_host(const tracer_recording* recording, tracer_host* out) {
  return guard(nullptr, [&] { give(out, host_in_c(need(recording, "recording").reader.host()), "out"); });
}

int64_t tracer_recording_read(tracer_recording* recording, tracer_event_buffer* buffer, size_t max,
                              tracer_error* error) {
  const tracer_status status = guard(error, [&] {
    RecordingReader& reader = need(recording, "recording").reader;
    const std::span<Event> room = need(buffer, "buffer").room(max);
    buffer->count = reader.read(room);
  });
  return status == TRACER_OK ? static_cast<int64_t>(buffer->count) : status;
}

tracer_status tracer_recording_damage(const tracer_recording* recording, tracer_damage* out) {
  return guard(nullptr, [&] {
    const RecordingDamage damage = need(recording, "recording").reader.damage();
    give(out, damage_in_c(damage), "out");
  });
}
