// SPDX-License-Identifier: Apache-2.0
#include <tracer/table.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "stream/event_frames.hpp"
#include "table/batch.hpp"
#include "table/living_processes.hpp"

namespace tracer {

class TableBuilder::Impl {
 public:
  explicit Impl(Table table) : layout_(internal::layout_of(table)) {}

  void add(const Event& given) {
    const Event event = internal::FrameEncoder::fitting(given);
    if (batch_ && batch_->text_bytes() > kMaxTextBytesHeld)
      throw Error({ErrorCode::kNoMemory, 0, "the texts of a batch take more than 1 GiB", "finish it more often", {}});
    const bool ends = keeps_living() && event.kind() == EventKind::kSessionEnd;
    whole_or_empty([&] {
      if (ends) {
        close_frame(sources_of_events());
        for (const Event& sample : living_.take()) append(sample, layout_.sources.size());
        close_frame(layout_.sources.size());
        return;
      }
      const std::size_t source = source_of(event.kind());
      if (source == layout_.sources.size()) return;
      append(event, sources_of_events());
      if (source < sources_of_events()) ++waiting_rows_;
    });
  }

  std::size_t rows() const noexcept { return (batch_ ? batch_->rows() : 0) + waiting_rows_; }

  internal::OwnedArray finish() {
    return whole_or_empty([this] {
      close_frame(sources_of_events());
      return batch().finish();
    });
  }

 private:
  /// Places of texts are 32 bits wide.
  static constexpr std::size_t kMaxTextBytesHeld = 1u << 30;

  /// After a failure some columns may have rows that others lack.
  template <class Work>
  std::invoke_result_t<Work> whole_or_empty(Work work) {
    try {
      return work();
    } catch (...) {
      batch_.reset();
      frames_.reset();
      waiting_rows_ = 0;
      throw;
    }
  }

  bool keeps_living() const noexcept { return layout_.table == Table::kProcesses; }
  /// Samples are no rows of processes before the end.
  std::size_t sources_of_events() const noexcept { return keeps_living() ? 1 : layout_.sources.size(); }
  std::size_t source_of(EventKind kind) const noexcept {
    std::size_t at = 0;
    while (at < layout_.sources.size() && layout_.sources[at].kind != kind) ++at;
    return at;
  }
  internal::Batch& batch() {
    if (!batch_) batch_.emplace(layout_, std::numeric_limits<std::size_t>::max());
    return *batch_;
  }

  void append(const Event& event, std::size_t sources) {
    if (!frames_) frames_.emplace();
    if (!frames_->has_room(event)) close_frame(sources);
    frames_->add(event);
  }
  void close_frame(std::size_t sources) {
    waiting_rows_ = 0;
    if (!frames_ || frames_->empty()) return;
    const internal::ColumnFrame& frame = frames_->close(internal::ClockUpdate::now());
    if (keeps_living() && sources == sources_of_events()) living_.read(frame);
    batch().open(frame, 0, sources);
    while (batch().take_rows()) {
    }
  }

  const internal::TableLayout& layout_;
  std::optional<internal::Batch> batch_;
  std::optional<internal::EventFrames> frames_;
  internal::LivingProcesses living_;
  std::size_t waiting_rows_ = 0;
};

TableBuilder::TableBuilder(Table table) : impl_(std::make_unique<Impl>(table)) {}
TableBuilder::~TableBuilder() = default;
TableBuilder::TableBuilder(TableBuilder&&) noexcept = default;
TableBuilder& TableBuilder::operator=(TableBuilder&&) noexcept = default;
void TableBuilder::add(const Event& event) { impl_->add(event); }
std::size_t TableBuilder::rows() const noexcept { return impl_->rows(); }
void TableBuilder::finish(ArrowArray* out) { *out = impl_->finish().give(); }

}  // namespace tracer
