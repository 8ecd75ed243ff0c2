// SPDX-License-Identifier: Apache-2.0
#include "history/session_history.hpp"

#include <chrono>
#include <exception>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "history/owner.hpp"

namespace tracer::internal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLastPatience{2000};

/// In one line: what, and why.
std::string sentence_of(const Error& error) { return error.problems().front().what; }

}  // namespace

SessionHistory::SessionHistory(const std::filesystem::path& path) {
  try {
    const FilesOf rights(HistoriesOf::current());
    auto file = std::make_unique<HistoryFile>(path, HistoryFile::Access::kWrite);
    usual_.learn(file->tasks());
    if (file->is_read_only()) {
      problem_ = fmt::format("the history {} can only be read: this session is not added", path.string());
    } else {
      file_ = std::move(file);
    }
  } catch (const Error& error) {
    problem_ = sentence_of(error) + ": this session has none";
  } catch (const std::exception& error) {
    problem_ = fmt::format("the history {}: {}: this session has none", path.string(), error.what());
  }
}

void SessionHistory::add(PastTask task) {
  if (!file_) return;
  if (tasks_.size() < kMostWaiting) return tasks_.push_back(std::move(task));
  give_up("the history was not written for too long: this session is only partly in it");
}

void SessionHistory::add(HistoryRun run) {
  if (file_ && runs_.size() < kMostWaiting) runs_.push_back(std::move(run));
}

void SessionHistory::write_sometimes(std::uint64_t now_ns) {
  if (written_ns_ == 0) written_ns_ = now_ns;
  if (now_ns < written_ns_ + kBetweenWrites_ns) return;
  written_ns_ = now_ns;
  write(milliseconds(0));
}

void SessionHistory::write_all() {
  write(kLastPatience);
  if (!tasks_.empty() || !runs_.empty())
    give_up("the history is held by another program: this session is not all in it");
  file_.reset();
}

void SessionHistory::write(milliseconds patience) {
  if (!file_ || (tasks_.empty() && runs_.empty())) return;
  try {
    if (!file_->add(tasks_, runs_, patience)) return;
    tasks_.clear();
    runs_.clear();
  } catch (const Error& error) {
    give_up(sentence_of(error) + ": this session is not all in it");
  }
}

void SessionHistory::give_up(std::string problem) {
  problem_ = std::move(problem);
  file_.reset();
  tasks_.clear();
  runs_.clear();
}

}  // namespace tracer::internal
