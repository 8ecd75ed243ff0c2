// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <fcntl.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include <tracer/answers.hpp>
#include <tracer/error.hpp>
#include <tracer/past.hpp>
#include <tracer/tier.hpp>

#include "binders.hpp"
#include "context.hpp"
#include "events.hpp"
#include "gil.hpp"
#include "queue.hpp"
#include "stream/output_file.hpp"
#include "stream/run_copy.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

/// With a position of its own.
int opened_again(int descriptor, const std::string& name) {
  const int again = ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_RDONLY | O_CLOEXEC);
  if (again < 0)
    throw Error({ErrorCode::kFileUnreadable,
                 errno,
                 fmt::format("can't read {}", name),
                 "check that /proc is mounted, and that this user may read the file",
                 {}});
  return again;
}

/// Of all that it has not read yet.
template <class Ask>
std::optional<std::string> answer(HeldReader& held, const Ask& ask) {
  const ReleasedGil released;
  RecordingReader reader = held.take();
  return ask(reader);
}

py::object answer_or_none(const std::optional<std::string>& text) {
  return text ? py::object(text_of(*text)) : py::none();
}

}  // namespace

std::vector<std::filesystem::path> paths_of(const py::list& files) {
  std::vector<std::filesystem::path> paths;
  for (const py::handle file : files) paths.emplace_back(bytes_of(py::reinterpret_borrow<py::object>(file)));
  return paths;
}

void bind_recording(py::module_& module) {
  py::class_<HeldReader, std::shared_ptr<HeldReader>>(module, "RecordingReader")
      .def(py::init([](const py::list& files) {
             const std::vector<std::filesystem::path> paths = paths_of(files);
             const ReleasedGil released;
             return std::make_shared<HeldReader>(open_recording(paths));
           }),
           py::arg("files"))
      .def(py::init([](const std::vector<int>& fds, const py::list& names) {
             std::vector<RecordingDescriptor> files;
             for (std::size_t i = 0; i < fds.size(); ++i) files.push_back({-1, bytes_of(py::str(names[i]))});
             const ReleasedGil released;
             for (std::size_t i = 0; i < fds.size(); ++i)
               files[i].file_descriptor = ::fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
             return std::make_shared<HeldReader>(open_recording_by_descriptor(files));
           }),
           py::arg("fds"), py::arg("names"))
      .def(py::init([](int fd, const py::str& name) {
             std::string text = bytes_of(name);
             const ReleasedGil released;
             return std::make_shared<HeldReader>(RecordingReader(opened_again(fd, text), std::move(text)));
           }),
           py::arg("fd"), py::arg("name"))
      .def("host", [](const HeldReader& reader) { return object_of(reader.host()); })
      .def("number",
           [](const HeldReader& held) {
             return held.about([](const RecordingReader& reader) { return reader.number(); });
           })
      .def("owner_uid",
           [](const HeldReader& held) {
             return held.about([](const RecordingReader& reader) { return reader.owner_uid(); });
           })
      .def("closed_unix_ns",
           [](const HeldReader& held) {
             return held.about([](const RecordingReader& reader) { return reader.closed_unix_ns(); });
           })
      .def(
          "read",
          [](HeldReader& reader, std::size_t most) {
            std::vector<Event> events;
            {
              const ReleasedGil released;
              events = reader.read(most);
            }
            return objects_of(events);
          },
          py::arg("most"))
      .def(
          "keep_only", [](HeldReader& reader, const py::object& kinds) { reader.keep_only(kinds_of(kinds)); },
          py::arg("kinds"))
      .def(
          "skip", [](HeldReader& reader, std::size_t most) { return reader.read(most).size(); }, py::arg("most"),
          py::call_guard<ReleasedGil>())
      .def(
          "why",
          [](HeldReader& held, const py::str& asked) {
            const std::string text = bytes_of(asked);
            return answer_or_none(answer(held, [&](RecordingReader& reader) { return why_json(reader, text); }));
          },
          py::arg("asked"))
      .def(
          "over_time",
          [](HeldReader& held, const py::str& key) {
            const auto of = key_from(bytes_of(key));
            if (!of)
              throw Error({ErrorCode::kInvalidArgument,
                           0,
                           "a key that is not 16 hexadecimal digits",
                           "give a run_key or task_key",
                           {}});
            return answer_or_none(answer(held, [&](RecordingReader& reader) { return over_time_json(reader, *of); }));
          },
          py::arg("key"))
      .def("damage", [](const HeldReader& reader) {
        const RecordingDamage damage = reader.damage();
        return py::make_tuple(damage.skipped_bytes, damage.skipped_events, damage.missing_frames, damage.read_error,
                              damage.truncated);
      });
  module.def(
      "copy_run",
      [](const py::list& files, const py::bytes& target, const std::vector<std::string>& run_keys,
         const py::dict& names, bool is_over) {
        internal::RunCopy copy{.run_keys = {}, .names = {}, .is_over = is_over};
        for (const std::string& key : run_keys) copy.run_keys.insert(key_from(key).value());
        for (const auto& [key, said] : names) {
          const auto [context, run_key, task_key, owner_uid] =
              py::cast<std::tuple<py::dict, std::string, std::string, std::optional<std::uint32_t>>>(said);
          Context& known = copy.names[key_from(py::cast<std::string>(key)).value()];
          known = context_of(context);
          known.run_key = key_from(run_key);
          known.task_key = key_from(task_key);
          known.owner_uid = owner_uid;
        }
        const std::vector<std::filesystem::path> paths = paths_of(files);
        const std::filesystem::path file = std::string(target);
        internal::OutputFile out(file);
        const ReleasedGil released;
        internal::copy_run(
            copy, [&paths] { return internal::series_of(internal::open_parts(paths)); },
            [&out](std::span<const std::byte> bytes) {
              out.write(bytes);
              if (!out.good()) throw Error(*out.problem());
            });
      },
      py::arg("files"), py::arg("target"), py::arg("run_keys"), py::arg("names"), py::arg("is_over"));
  module.def(
      "past",
      [](const std::optional<py::bytes>& socket, std::uint64_t since_unix_ns) {
        const std::filesystem::path named =
            socket ? std::filesystem::path(std::string(*socket)) : service_socket_to_try();
        std::vector<PastFile> files;
        {
          const ReleasedGil released;
          files = past(named, since_unix_ns);
        }
        py::list all;
        for (const PastFile& file : files)
          all.append(py::make_tuple(file.opened.file_descriptor, file.opened.name, file.owner_uid, file.session_id));
        return all;
      },
      py::arg("socket"), py::arg("since_unix_ns"));
}

}  // namespace tracer::python
