// SPDX-License-Identifier: Apache-2.0
#include <tracer/session.hpp>

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "correlate/filter_evaluator.hpp"
#include "session/reader.hpp"
#include "session/session_access.hpp"
#include "session/session_setup.hpp"
#include "session/tiers.hpp"

namespace tracer {

class Session::Impl {
 public:
  Impl(std::unique_ptr<internal::Source> source, SessionOptions options,
       std::shared_ptr<internal::ContextTable> contexts, std::vector<Problem> problems = {})
      : filter(options.filter),
        tier(source->tier()),
        source_filters(source->filters()),
        tier_problems(std::move(problems)),
        host(internal::host_of(*source)),
        reader(std::make_shared<internal::Reader>(std::move(source), std::move(options), std::move(contexts), host)) {}
  ~Impl() {
    if (reader->in_own_process()) {
      reader->stop_or_leave();
    } else {
      // What it shares with the parent's must stay as it is.
      static auto* const parents = new std::vector<std::shared_ptr<internal::Reader>>;
      parents->push_back(reader);
    }
  }

  const Filter filter;
  const Tier tier;
  const bool source_filters;
  const std::vector<Problem> tier_problems;
  const HostInfo host;
  /// Shared with its thread, and with those who wait for a queue.
  const std::shared_ptr<internal::Reader> reader;
};

Session::Session(SessionOptions options) {
  const std::uint64_t before_ns = internal::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  auto contexts = std::make_shared<internal::ContextTable>(options.max_contexts);
  std::vector<Problem> problems;
  auto source = internal::open_source(internal::checked(options), *contexts, problems);
  impl_ = std::make_unique<Impl>(std::move(source), std::move(options), std::move(contexts), std::move(problems));
  impl_->reader->start_cpu_ns().add(internal::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
}

Session::Session(Source source, SessionOptions options) {
  auto owned = source.release();
  if (!owned) throw Error({ErrorCode::kInvalidArgument, 0, "a session of a source that was moved from", {}, {}});
  internal::checked(options);
  auto contexts = std::make_shared<internal::ContextTable>(options.max_contexts);
  impl_ = std::make_unique<Impl>(std::move(owned), std::move(options), std::move(contexts));
}

Session::~Session() = default;

std::shared_ptr<internal::Reader> internal::SessionAccess::reader(const Session& session) {
  return session.impl_->reader;
}

std::uint64_t internal::SessionAccess::start_cpu_ns(const Session& session) {
  return session.impl_->reader->start_cpu_ns().value();
}

std::unique_ptr<Session> internal::SessionAccess::of_kernel(const SessionOptions& options,
                                                            const std::function<void(KernelSourceOptions&)>& adjust) {
  ContextTable contexts(options.max_contexts);
  KernelSourceOptions kernel = kernel_options(checked(options), contexts);
  adjust(kernel);
  return std::make_unique<Session>(tracer::Source(kernel_source(kernel)), options);
}

Subscription Session::subscribe(std::optional<EventKind> kind, std::function<void(const Event&)> callback,
                                SubscribeOptions options) {
  if (kind) internal::require_known(*kind);
  return impl_->reader->subscribe(kind, std::move(callback), options);
}
Queue Session::queue(QueueOptions options) { return impl_->reader->queue(std::move(options)); }
SinkHandle Session::add_sink(std::unique_ptr<Sink> sink, QueueOptions options) {
  return impl_->reader->add_sink(std::move(sink), std::move(options));
}
void Session::start() {
  const auto reader = impl_->reader;  // A callback may destroy the session meanwhile.
  reader->start();
}
void Session::stop() {
  const auto reader = impl_->reader;  // A callback may destroy the session.
  reader->stop();
}
bool Session::in_callback() const noexcept { return impl_->reader->in_callback(); }
void Session::request_stop() noexcept { impl_->reader->request_stop(); }
namespace {

/// Whose a context is, only a service says.
Context without_owner(Context context) {
  context.owner_uid.reset();
  return context;
}

}  // namespace

void Session::track(pid_t pid, const Context& context) { impl_->reader->track(pid, without_owner(context)); }
class ThreadLabel::Impl {
 public:
  Impl(std::weak_ptr<internal::Reader> reader, internal::Reader::OpenLabel label)
      : reader_(std::move(reader)), label_(std::move(label)) {}
  ~Impl() { end(); }
  void end() noexcept {
    if (const auto reader = reader_.lock()) reader->close_label(label_);
  }
  void resume() const noexcept {
    if (const auto reader = reader_.lock()) reader->resume_label(label_, internal::this_caller());
  }

 private:
  const std::weak_ptr<internal::Reader> reader_;
  const internal::Reader::OpenLabel label_;
};

ThreadLabel::ThreadLabel() noexcept = default;
ThreadLabel::ThreadLabel(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
ThreadLabel::ThreadLabel(ThreadLabel&& other) noexcept = default;
ThreadLabel& ThreadLabel::operator=(ThreadLabel&& other) noexcept = default;
ThreadLabel::~ThreadLabel() = default;
void ThreadLabel::end() noexcept {
  if (impl_) impl_->end();
}
void ThreadLabel::resume() noexcept {
  if (impl_) impl_->resume();
}

ThreadLabel Session::label_thread(const Context& context) {
  auto label = impl_->reader->open_label(without_owner(context), internal::this_caller());
  return label ? ThreadLabel(std::make_unique<ThreadLabel::Impl>(impl_->reader, *label)) : ThreadLabel();
}
void Session::report_own_work(const Context& task, const OwnWork& work) {
  impl_->reader->report_own_work(without_owner(task), work, internal::this_caller());
}
void Session::unlabel_thread() noexcept { impl_->reader->disown_thread(internal::this_caller()); }
void Session::announce(const Announcement& announcement) {
  Announcement said = announcement;
  said.context.owner_uid.reset();
  impl_->reader->announce(said, internal::this_caller());
}
Key Session::submit(const Submission& submission) {
  Submission said = submission;
  said.context.owner_uid.reset();
  return impl_->reader->submit(said, internal::this_caller());
}
void Session::withdraw(const Withdrawal& withdrawal) { impl_->reader->withdraw(withdrawal, internal::this_caller()); }
int Session::fd() const noexcept { return impl_->reader->fd(); }
std::size_t Session::poll(std::chrono::milliseconds timeout) {
  const auto reader = impl_->reader;  // Likewise.
  return reader->poll(timeout);
}
bool Session::flush(std::chrono::milliseconds timeout, const std::function<bool()>& go_on) {
  const auto reader = impl_->reader;  // Likewise.
  return reader->flush(timeout, go_on);
}
bool Session::finished() const noexcept { return impl_->reader->finished(); }
std::vector<ProcessSample> Session::living() { return impl_->reader->living(); }
Statistics Session::statistics() const { return impl_->reader->statistics(); }
std::vector<ContextTotals> Session::totals() const { return impl_->reader->totals(); }
std::string Session::state(const StateQuery& query) const { return impl_->reader->state(query); }
std::vector<std::string> Session::explain() const {
  return internal::explain_filter(impl_->filter, impl_->source_filters, ::geteuid() != 0);
}
std::vector<FamilyState> Session::families() const { return impl_->reader->families(); }
const std::vector<Problem>& Session::rule_problems() const noexcept { return impl_->reader->rule_problems(); }
Tier Session::tier() const noexcept { return impl_->tier; }
const std::vector<Problem>& Session::tier_problems() const noexcept { return impl_->tier_problems; }
const HostInfo& Session::host() const noexcept { return impl_->host; }

}  // namespace tracer
