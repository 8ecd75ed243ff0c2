// SPDX-License-Identifier: Apache-2.0
#include "history/sqlite.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <limits>

namespace tracer::internal {
namespace {

/// A file may be anybody's: no text in it needs more.
constexpr int kMostTextBytes = 1 << 20;

std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char each : path) {
    if (each == '%' || each == '?' || each == '#') {
      constexpr char kDigits[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(each);
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      uri += each;
    }
  }
  return uri;
}

}  // namespace

bool SqlError::is_busy() const noexcept { return (code_ & 0xff) == SQLITE_BUSY || (code_ & 0xff) == SQLITE_LOCKED; }

bool SqlError::is_read_only() const noexcept {
  const int primary = code_ & 0xff;
  return primary == SQLITE_READONLY || primary == SQLITE_CANTOPEN || primary == SQLITE_PERM;
}

void Database::Close::operator()(sqlite3* connection) const noexcept { ::sqlite3_close(connection); }

Database::Database(const std::string& path, Access access) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (access == Access::kWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  const std::string uri = uri_of(path) + (access == Access::kReadUnlocked ? "?immutable=1" : "");
  const int code = ::sqlite3_open_v2(uri.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  if (code != SQLITE_OK) refuse(code);
  // What somebody has put into the file must not become code.
  ::sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  ::sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  ::sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  ::sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  ::sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMostTextBytes);
  execute("PRAGMA cell_size_check = ON");
  execute("PRAGMA mmap_size = 0");
}

void Database::refuse(int code) const {
  throw SqlError(code, connection_ ? ::sqlite3_errmsg(connection_.get()) : ::sqlite3_errstr(code));
}

void Database::execute(const char* sql) {
  const int code = ::sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) refuse(code);
}

std::int64_t Database::number(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? static_cast<std::int64_t>(statement.number(0)) : 0;
}

void Database::wait_at_most(std::chrono::milliseconds time) noexcept {
  ::sqlite3_busy_timeout(connection_.get(), static_cast<int>(time.count()));
}

std::int64_t Database::changes() const noexcept { return ::sqlite3_changes64(connection_.get()); }

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }

Statement::Statement(Database& database, const char* sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int code = ::sqlite3_prepare_v2(database.connection_.get(), sql, -1, &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_.refuse(code);
}

Statement& Statement::bind(std::uint64_t value) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  check(::sqlite3_bind_int64(statement_.get(), ++parameter_, static_cast<std::int64_t>(std::min(value, kMost))));
  return *this;
}

Statement& Statement::bind(const std::optional<std::uint64_t>& value) {
  if (value) return bind(*value);
  check(::sqlite3_bind_null(statement_.get(), ++parameter_));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  check(::sqlite3_bind_text64(statement_.get(), ++parameter_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

bool Statement::step() {
  const int code = ::sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.refuse(code);
  return false;
}

void Statement::run() {
  while (step()) {
  }
  check(::sqlite3_reset(statement_.get()));
  parameter_ = 0;
}

std::uint64_t Statement::number(int column) const noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ::sqlite3_column_int64(statement_.get(), column)));
}

std::optional<std::uint64_t> Statement::optional_number(int column) const noexcept {
  if (::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return number(column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(::sqlite3_column_bytes(statement_.get(), column))};
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const SqlError&) {
    // It was rolled back by what has failed.
    return;
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace tracer::internal
