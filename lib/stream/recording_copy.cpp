// SPDX-License-Identifier: Apache-2.0
#include "stream/recording_copy.hpp"

#include <optional>
#include <span>
#include <string>

#include <tracer/error.hpp>

#include "base/random.hpp"
#include "stream/event_rows.hpp"
#include "stream/frame.hpp"
#include "stream/frame_encoder.hpp"
#include "stream/output_file.hpp"
#include "stream/recording_file.hpp"
#include "stream/stream_header.hpp"

namespace tracer::internal {
namespace {

/// What was not known by itself is inferred.
template <class T>
void take_known(std::optional<T>& own, const std::optional<T>& known, std::optional<Provenance>& provenance) {
  if (!known || own == known) return;
  own = known;
  provenance = Provenance::kInferred;
}

void take_names(Context& task, const Context& known) {
  ContextProvenance& by = task.provenance;
  take_known(task.pipeline, known.pipeline, by.pipeline);
  take_known(task.run, known.run, by.run);
  take_known(task.run_id, known.run_id, by.run_id);
  take_known(task.engine, known.engine, by.engine);
  take_known(task.step, known.step, by.step);
  take_known(task.sample, known.sample, by.sample);
  take_known(task.task, known.task, by.task);
  take_known(task.attempt, known.attempt, by.attempt);
  task.within = known.within;
  task.run_key = known.run_key;
  task.task_key = known.task_key;
  task.owner_uid = known.owner_uid;
}

class Copy {
 public:
  Copy(const std::filesystem::path& to, const StreamHeader& header)
      : to_(to), frames_(random_number(), kRecordingLevel) {
    Bytes text;
    put_header(text, header);
    put_bytes(out_, std::as_bytes(std::span(kRecordingMagic)));
    frames_.append(out_, text);
    write();
  }

  void add(const ColumnFrame& frame, const NamesOfTasks& names) {
    rows_.open(frame, [&names](Context& context) {
      const auto known = context.task_key ? names.find(*context.task_key) : names.end();
      if (known != names.end()) take_names(context, known->second);
    });
    for (Event event = rows_.next(); event.kind() != EventKind::kNone; event = rows_.next()) {
      const std::size_t bytes = event.charge_bytes();
      if (!encoder_.has_room() || charged_bytes_ + bytes > kMaxChargeBytes / 2) close(frame.clock());
      charged_bytes_ += bytes;
      encoder_.append(FrameEncoder::fitting(event));
    }
    // Also an empty one, which ends a file on purpose.
    close(frame.clock());
    if (!to_.good()) throw Error(*to_.problem());
  }

 private:
  void close(const ClockUpdate& clock) {
    Bytes payload;
    const std::size_t least = encoder_.least_stored_bytes(charged_bytes_);
    charged_bytes_ = 0;
    encoder_.close(payload, clock);
    frames_.append(out_, payload, least);
    write();
  }
  void write() {
    to_.write(out_);
    out_.clear();
  }

  OutputFile to_;
  FrameWriter frames_;
  EventRows rows_;
  FrameEncoder encoder_;
  std::size_t charged_bytes_ = 0;
  Bytes out_;
};

}  // namespace

void copy_recording(const std::filesystem::path& from, const std::filesystem::path& to, const NamesOfTasks& names) {
  RecordingFile file(from);
  Copy copy(to, file.header());
  while (const ColumnFrame* frame = file.next_frame(RecordingFile::Wait::kForBytes).frame) copy.add(*frame, names);
}

}  // namespace tracer::internal
