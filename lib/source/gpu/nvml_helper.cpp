// SPDX-License-Identifier: Apache-2.0
#include "source/gpu/nvml_helper.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

constexpr std::size_t kMostBytesAtOnce = 1u << 20;

Problem problem_of(std::string what) {
  return {ErrorCode::kNoGpu, 0, std::move(what), "look whether nvidia-smi works on this machine", {}};
}

}  // namespace

std::string NvmlHelper::find() {
  constexpr const char* kName = "tracer-gpu";
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  std::vector<std::filesystem::path> places;
  if (!failed) places = {folder / kName, folder.parent_path() / "libexec" / "tracer" / kName};
  places.emplace_back(TRACER_GPU_HELPER);
  for (const auto& place : places)
    if (::access(place.c_str(), X_OK) == 0) return place.string();
  return {};
}

NvmlHelper::NvmlHelper(std::string program, Limits limits) : program_(std::move(program)), limits_(limits) {}

void NvmlHelper::start() {
  process_ = std::make_unique<HelperProcess>(program_);
  const auto until = Clock::now() + limits_.start;
  while (!lines_.version() && !lines_.failure()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) {
      stop();
      throw Error(problem_of("NVIDIA's management library hangs"));
    }
    if (!receive(left) && !lines_.version() && !lines_.failure()) {
      stop();
      throw Error(problem_of("tracer-gpu ended while it loaded NVIDIA's management library"));
    }
  }
  if (lines_.failure()) {
    stop();
    throw Error(problem_of(*lines_.failure()));
  }
  version_ = *lines_.version();
  works_ = true;
}

std::optional<Problem> NvmlHelper::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void NvmlHelper::note_cpu() noexcept {
  if (process_) cpu_ns_.set(std::max(cpu_ns_.value(), ended_cpu_ns_ + process_->cpu_ns()));
}

bool NvmlHelper::receive(std::chrono::milliseconds most) {
  pollfd readable{process_->output(), POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(most.count())) <= 0) return true;
  char buffer[16u << 10];
  bool there = true;
  for (std::size_t bytes = 0; bytes < kMostBytesAtOnce;) {
    const ssize_t got = ::read(process_->output(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    there = got > 0 || (got < 0 && errno == EAGAIN);
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
    lines_.take({buffer, static_cast<std::size_t>(got)});
  }
  refused_.set(ended_refused_ + lines_.refused());
  return there;
}

void NvmlHelper::give_up(Problem problem) {
  process_.reset();
  works_ = false;
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
}

void NvmlHelper::restart(const char* why) {
  note_cpu();
  ended_cpu_ns_ = cpu_ns_.value();
  process_.reset();
  asked_.reset();
  if (restarts_++ >= limits_.most_restarts)
    return give_up(
        problem_of(fmt::format("tracer-gpu, which asks NVIDIA's management library, {} {} times", why, restarts_)));
  try {
    process_ = std::make_unique<HelperProcess>(program_);
  } catch (const Error& error) {
    return give_up(error.problems().front());
  }
  ended_refused_ += lines_.refused();
  lines_ = NvmlLines();
  restarted_ = true;
}

std::optional<NvmlState> NvmlHelper::ask() {
  if (!process_) return std::nullopt;
  const auto now = Clock::now();
  if (!asked_) {
    asked_ = now;
    process_->send('\n');
  }
  const bool there = receive(limits_.wait);
  note_cpu();
  auto state = lines_.take_state();
  if (state) asked_.reset();
  if (lines_.failure()) {
    give_up(problem_of(*lines_.failure()));
  } else if (!there) {
    restart("ended");
  } else if (asked_ && now - *asked_ > limits_.answer) {
    restart("hung");
  }
  return state;
}

}  // namespace tracer::internal
