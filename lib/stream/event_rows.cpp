// SPDX-License-Identifier: Apache-2.0
#include "stream/event_rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tracer::internal {
namespace {

/// Reads one struct from a row, field by field. What has no value is absent, or as its struct begins.
class RowReader {
 public:
  RowReader(const ColumnFrame& frame, const SharedParts& parts, const Column* first, std::size_t row) noexcept
      : frame_(frame), parts_(parts), next_(first), row_(row) {}

  template <Described T>
  void read(T& value) {
    each_field<T>([&](const auto& described) { read_member(value.*described.member); });
  }

 private:
  template <class M>
  void read_member(M& member) {
    using T = Inner<M>;
    if constexpr (Part<T>) {
      if (next_->present(row_)) member = std::get<std::vector<M>>(parts_)[number()];
      ++next_;
    } else if constexpr (kIsListOfStructs<M>) {
      read_list(member);
    } else if constexpr (kIsOptional<M> && Described<T>) {
      if (any_present(column_count<T>())) {
        read(member.emplace());
      } else {
        next_ += column_count<T>();
      }
    } else if constexpr (kIsShared<M>) {
      const auto made = std::make_shared<T>();
      read(*made);
      member = made;
    } else if constexpr (Described<M>) {
      read(member);
    } else {
      if (next_->present(row_)) {
        read_value(value_in(member));
      } else if constexpr (kIsOptional<M>) {
        member.reset();
      }
      ++next_;
    }
  }

  template <Described T>
  void read_list(std::vector<T>& list) {
    const Column& own = *next_;
    if (own.present(row_)) {
      const std::size_t begin = number();
      list.resize(static_cast<std::size_t>(own.values[row_ + 1]) - begin);
      for (std::size_t i = 0; i < list.size(); ++i) RowReader(frame_, parts_, next_ + 1, begin + i).read(list[i]);
    }
    next_ += 1 + column_count<T>();
  }

  template <class T>
  static T& value_in(T& member) {
    return member;
  }
  template <class T>
  static T& value_in(std::optional<T>& member) {
    return member.emplace();
  }

  void read_value(bool& value) { value = number() != 0; }
  template <std::integral T>
  void read_value(T& value) {
    value = static_cast<T>(next_->values[row_]);
  }
  template <class T>
  requires std::is_enum_v<T>
  void read_value(T& value) { value = static_cast<T>(next_->values[row_]); }
  void read_value(std::string& text) { text = frame_.texts()[number()]; }
  void read_value(std::vector<std::string>& texts) {
    const std::size_t begin = number();
    const std::size_t end = static_cast<std::size_t>(next_->values[row_ + 1]);
    texts.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i)
      texts.emplace_back(frame_.texts()[static_cast<std::size_t>(next_->items[i])]);
  }

  std::size_t number() const noexcept { return static_cast<std::size_t>(next_->values[row_]); }
  bool any_present(std::size_t columns) const noexcept {
    return std::any_of(next_, next_ + columns, [this](const Column& column) { return column.present(row_); });
  }

  const ColumnFrame& frame_;
  const SharedParts& parts_;
  const Column* next_;
  std::size_t row_;
};

template <Part T>
void make_parts(const ColumnFrame& frame, SharedParts& parts, const std::function<void(Context&)>& rename) {
  const Section& section = frame.part(kPlaceOfPart<T>);
  auto& made = std::get<std::vector<std::shared_ptr<const T>>>(parts);
  made.clear();
  made.reserve(section.rows);
  for (std::size_t row = 0; row < section.rows; ++row) {
    auto part = std::make_shared<T>();
    RowReader(frame, parts, section.columns.data(), row).read(*part);
    if constexpr (std::is_same_v<T, Context>)
      if (rename) rename(*part);
    made.push_back(std::move(part));
  }
}

template <EventType E>
Event make_event(const ColumnFrame& frame, const SharedParts& parts, std::size_t row) {
  E event;
  RowReader(frame, parts, frame.kind(kPlaceOfKind<E>).columns.data(), row).read(event);
  if constexpr (std::is_same_v<E, ProcessExit>) event.start_ns = event.process->start_ns;
  return event;
}

using MakeEvent = Event (*)(const ColumnFrame&, const SharedParts&, std::size_t);
constexpr auto kMakeEvent = []<class... E>(TypeList<E...>) {
  return std::array<MakeEvent, sizeof...(E)>{&make_event<E>...};
}(EventTypes());

}  // namespace

Context context_at(const ColumnFrame& frame, std::size_t row) {
  Context context;
  RowReader(frame, {}, frame.part(kPlaceOfPart<Context>).columns.data(), row).read(context);
  return context;
}

void EventRows::open(const ColumnFrame& frame, const std::function<void(Context&)>& rename) {
  frame_ = nullptr;
  row_ = charged_bytes_ = refused_ = 0;
  row_of_kind_.fill(0);
  if (!frame.has_known_rows()) return;
  [&]<class... T>(TypeList<T...>) { (make_parts<T>(frame, parts_, rename), ...); }(PartTypes());
  frame_ = &frame;
}

Event EventRows::next() {
  while (frame_ != nullptr && row_ < frame_->rows()) {
    const std::size_t place = frame_->place_of_row(row_++);
    const std::size_t row = row_of_kind_[place]++;
    if (place == kKinds) continue;
    Event event = kMakeEvent[place](*frame_, parts_, row);
    charged_bytes_ += event.charge_bytes();
    if (charged_bytes_ <= frame_->most_charge_bytes()) return event;
    refused_ = frame_->rows() - row_ + 1;
    row_ = frame_->rows();
  }
  return {};
}

Event EventRows::event(std::size_t place, std::size_t row) const { return kMakeEvent[place](*frame_, parts_, row); }

}  // namespace tracer::internal
