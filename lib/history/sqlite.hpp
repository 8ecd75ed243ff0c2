// SPDX-License-Identifier: Apache-2.0
/// As much of SQLite's interface as a history needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tracer::internal {

/// SQLite has refused something; what() is its own message.
class SqlError : public std::runtime_error {
 public:
  SqlError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  /// Somebody else writes.
  bool is_busy() const noexcept;
  /// This file, or its folder, can't be written.
  bool is_read_only() const noexcept;

 private:
  int code_;
};

/// A connection. One thread at a time.
class Database {
 public:
  enum class Access { kWrite, kRead, kReadUnlocked };

  /// An existing file. kReadUnlocked: of a folder that can't be written; nobody must write to it. Throws SqlError.
  Database(const std::string& path, Access access);

  void execute(const char* sql);
  std::int64_t number(const char* sql);
  /// How long it waits for others.
  void wait_at_most(std::chrono::milliseconds time) noexcept;
  std::int64_t changes() const noexcept;

 private:
  friend class Statement;
  [[noreturn]] void refuse(int code) const;

  struct Close {
    void operator()(sqlite3* connection) const noexcept;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A prepared statement.
class Statement {
 public:
  Statement(Database& database, const char* sql);

  /// The next parameter.
  Statement& bind(std::uint64_t value);
  Statement& bind(const std::optional<std::uint64_t>& value);
  Statement& bind(std::string_view text);
  /// False: there is no further row.
  bool step();
  /// Runs it to its end, and makes it ready for other parameters.
  void run();

  std::uint64_t number(int column) const noexcept;  ///< Below 0: 0.
  std::optional<std::uint64_t> optional_number(int column) const noexcept;
  std::string text(int column) const;

 private:
  void check(int code) const;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int parameter_ = 0;
};

/// All or nothing: what was not committed is rolled back.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.execute("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace tracer::internal
