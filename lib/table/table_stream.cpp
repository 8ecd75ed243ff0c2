// SPDX-License-Identifier: Apache-2.0
#include <tracer/table.hpp>

#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stream/event_frames.hpp"
#include "stream/recording_series.hpp"
#include "table/batch.hpp"
#include "table/living_processes.hpp"

namespace tracer {
namespace internal {
namespace {

/// What is behind an ArrowArrayStream.
class TableStream {
 public:
  TableStream(RecordingReader reader, Table table, const TableOptions& options)
      : reader_(std::move(reader)),
        file_(file_of(reader_)),
        layout_(layout_of(table)),
        batch_(layout_, options.rows_per_batch),
        only_ended_(options.only_ended) {}

  const TableLayout& layout() const noexcept { return layout_; }
  /// The next batch; not filled at the end. Throws.
  OwnedArray next() {
    if (layout_.table == Table::kHosts) {
      if (std::exchange(at_end_, true)) return {};
      batch_.add(file_.host());
      return batch_.finish();
    }
    fill();
    if (batch_.rows() != 0) return batch_.finish();
    if (damage().read_error != 0)
      throw Error({ErrorCode::kFileUnreadable,
                   damage().read_error,
                   "can't read all of " + file_.name(),
                   "the data before is complete; copy the file to where it can be read",
                   {}});
    return {};
  }
  RecordingDamage damage() const { return file_.damage(); }

  std::optional<Problem> problem;
  std::string last_error;

 private:
  static RecordingSeries& file_of(RecordingReader& reader) {
    RecordingSeries* const file = RecordingAccess::series(reader);
    if (file != nullptr) return *file;
    throw Error({ErrorCode::kInvalidArgument, 0, "the reader was moved from before", "make another one", {}});
  }
  bool has_living() const noexcept { return layout_.table == Table::kProcesses; }
  std::size_t sources() const noexcept { return has_living() ? 1 : layout_.sources.size(); }

  void fill() {
    while (!batch_.full()) {
      if (batch_.take_rows()) continue;
      if (!at_end_) {
        open_next();
      } else if (next_living_ < living_.size()) {
        open_living();
      } else {
        return;
      }
    }
  }
  void open_next() {
    const auto rest = file_.next_frame(RecordingSeries::Wait::kForBytes);
    if (rest.frame == nullptr) {
      at_end_ = true;
      living_ = ended_.take();
      return;
    }
    std::size_t refused = has_living() && !only_ended_ ? ended_.read(*rest.frame) : 0;
    refused += batch_.open(*rest.frame, rest.first_row, sources());
    if (refused != 0) file_.note_refused(refused);
  }
  void open_living() {
    while (next_living_ < living_.size() && frames_.has_room(living_[next_living_]))
      frames_.add(std::exchange(living_[next_living_++], {}));
    batch_.open(frames_.close(ended_.clock()), 0, layout_.sources.size());
  }

  RecordingReader reader_;
  RecordingSeries& file_;
  const TableLayout& layout_;
  Batch batch_;
  const bool only_ended_;
  LivingProcesses ended_;
  std::vector<Event> living_;
  std::size_t next_living_ = 0;
  EventFrames frames_;
  bool at_end_ = false;
};

TableStream& stream_of(const ArrowArrayStream* stream) noexcept {
  return *static_cast<TableStream*>(stream->private_data);
}

int fail(TableStream& stream, Problem problem) noexcept {
  const int number = problem.error_number != 0 ? problem.error_number : EIO;
  try {
    stream.last_error = Error(problem).what();
  } catch (...) {
    stream.last_error.clear();
  }
  stream.problem = std::move(problem);
  return number;
}

/// Runs what a call of a stream does. Returns an errno, or 0.
template <class Step>
int guarded(TableStream& stream, Step step) noexcept {
  try {
    step();
    return 0;
  } catch (const Error& error) {
    return fail(stream, error.problems().front());
  } catch (const std::bad_alloc&) {
    return fail(stream, {ErrorCode::kNoMemory, ENOMEM, "no memory is left for the table", {}, {}});
  } catch (const std::exception& error) {
    return fail(stream, {ErrorCode::kInternal, EIO, error.what(), {}, {}});
  }
}

int get_schema(ArrowArrayStream* self, ArrowSchema* out) {
  TableStream& stream = stream_of(self);
  return guarded(stream, [&] { *out = schema_of(stream.layout()).give(); });
}

int get_next(ArrowArrayStream* self, ArrowArray* out) {
  TableStream& stream = stream_of(self);
  *out = {};
  // After an error nothing is known of what comes next.
  if (stream.problem) return stream.problem->error_number != 0 ? stream.problem->error_number : EIO;
  return guarded(stream, [&] { *out = stream.next().give(); });
}

const char* get_last_error(ArrowArrayStream* self) {
  const TableStream& stream = stream_of(self);
  return stream.problem ? stream.last_error.c_str() : nullptr;
}

void release_stream(ArrowArrayStream* self) {
  delete &stream_of(self);
  self->release = nullptr;
}

bool is_ours(const ArrowArrayStream& stream) noexcept {
  return stream.release != nullptr && stream.get_next == &get_next;
}

template <class Step>
void with_structured_errors(Step step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    throw Error({ErrorCode::kNoMemory, ENOMEM, "no memory is left for the table", {}, {}});
  }
}

}  // namespace
}  // namespace internal

void export_table_schema(Table table, ArrowSchema* out) {
  internal::with_structured_errors([&] { *out = internal::schema_of(internal::layout_of(table)).give(); });
}

void export_table(RecordingReader reader, Table table, ArrowArrayStream* out, TableOptions options) {
  internal::with_structured_errors([&] {
    auto stream = std::make_unique<internal::TableStream>(std::move(reader), table, options);
    *out = {&internal::get_schema, &internal::get_next, &internal::get_last_error, &internal::release_stream,
            stream.release()};
  });
}

std::optional<Problem> stream_problem(const ArrowArrayStream& stream) {
  if (!internal::is_ours(stream)) return std::nullopt;
  return internal::stream_of(&stream).problem;
}

std::optional<RecordingDamage> stream_damage(const ArrowArrayStream& stream) {
  if (!internal::is_ours(stream)) return std::nullopt;
  return internal::stream_of(&stream).damage();
}

}  // namespace tracer
