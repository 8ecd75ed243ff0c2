// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/sip_hash.hpp"
#include "base/user_ids.hpp"
#include "history/history_file.hpp"
#include "history/model.hpp"
#include "history/question.hpp"
#include "history/rows.hpp"

namespace tracer::internal {

/// The history of a session: what is usual by what others have added, and what is to be added. Its file is read and
/// written by a thread of its own, as its file system may be slow. Nothing that goes wrong with it harms the session.
/// One thread at a time.
class SessionHistory {
 public:
  /// Throws Error; a question is answered by a thread of its own, with all that was added.
  using Ask = std::function<HistoryAnswer(const HistoryQuestion&, std::chrono::milliseconds patience)>;

  /// Never throws for what is wrong with the file: take_problem() says it. With kRead, nothing is added. With `owners`,
  /// tasks of several users are kept apart; these say which user ids are whose.
  explicit SessionHistory(const std::filesystem::path& path, HistoryFile::Access access = HistoryFile::Access::kWrite,
                          std::optional<UserIds> owners = {});
  /// What was added since the last write is dropped.
  ~SessionHistory();
  SessionHistory(const SessionHistory&) = delete;
  SessionHistory& operator=(const SessionHistory&) = delete;

  /// As tracer::kind_of(), of its owner; what nobody owns, or nobody knows whose it is, is root's.
  TaskKind kind_of(const Context& context, std::string_view tool = {}) const;
  /// Of what a script is. Without a history, it is of no use.
  std::uint64_t script_of(std::string_view text) const noexcept { return sip_hash(script_key_, text) >> 1; }
  /// For any thread, also when this is gone. To be called when the program has given up rights that it would keep.
  Ask begin_to_answer();
  /// Looks up what is usual of this kind, as it is now.
  void want(const TaskKind& kind);
  /// Null: nobody wanted it, it has not come yet, or there is no history.
  std::shared_ptr<const UsualOfKind> usual(const TaskKind& kind);
  /// Waits for what is wanted. False: not all of it came.
  bool settle(std::chrono::milliseconds patience);

  void add(PastTask task);
  void add(HistoryRun run);
  /// At a snapshot: has what is there written, but not at each of them, and waits for nobody.
  void write_sometimes(std::uint64_t now_ns);
  /// At the end.
  void write_all();
  /// What went wrong, in one sentence; once.
  std::optional<std::string> take_problem();

 private:
  static constexpr std::size_t kMostKinds = 256;  ///< The owner of most loses the oldest.
  static constexpr std::size_t kMostWaiting = 16384;
  static constexpr std::size_t kMostUnwritten = 512;  ///< At so many tasks, and again, the thread tries to write them.
  static constexpr std::uint64_t kBetweenWrites_ns = 10'000'000'000;

  struct Asked;
  struct State;
  static void work(const std::shared_ptr<State>& state);
  /// The thread, when it has something to do: not before the program has given up rights that it would keep. False:
  /// there is no file, or no thread for now.
  bool start();
  bool has_new();

  std::shared_ptr<State> state_;  ///< Shared with the thread, which outlives this where its file system hangs.
  std::thread thread_;
  bool has_file_ = false;
  SipKey script_key_;
  const std::optional<UserIds> owners_;
  std::uint64_t written_ns_ = 0;
  pid_t pid_ = ::getpid();
};

}  // namespace tracer::internal
