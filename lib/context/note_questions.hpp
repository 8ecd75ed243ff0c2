// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/accounts.hpp"
#include "base/user_questions.hpp"
#include "context/notes.hpp"

namespace tracer::internal {

/// Asks what engines' files say of tasks, as UserQuestions does it: each is a question of the process's user. Asked by
/// one thread.
class NoteQuestions {
 public:
  explicit NoteQuestions(std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>(), ReadNotes read = read_notes)
      : accounts_(std::move(accounts)), read_(std::move(read)) {}

  /// Absent: it is not known yet, ask again. `name`: of the question; what was asked by it before is answered.
  std::optional<NoteFindings> ask(const std::string& name, const NoteQuestion& question) {
    const uid_t user = accounts_->user_of(question.process.uid);
    if (!questions_.ask(name, user, [read = read_, question] { return look_up(question, read); }))
      return NoteFindings{false, question.captures};
    return questions_.take(name);
  }

 private:
  const std::shared_ptr<Accounts> accounts_;
  const ReadNotes read_;
  UserQuestions<std::string, NoteFindings> questions_;
};

}  // namespace tracer::internal
