// SPDX-License-Identifier: Apache-2.0
#include <tracer/error.hpp>

#include <cerrno>
#include <cstring>

#include <doctest/doctest.h>

using namespace tracer;

TEST_CASE("the codes' numbers are fixed for ever") {
  const std::pair<ErrorCode, int> table[] = {
      {ErrorCode::kInternal, 100},           {ErrorCode::kInvalidArgument, 101},
      {ErrorCode::kPermission, 102},         {ErrorCode::kNoBtf, 103},
      {ErrorCode::kKernelTooOld, 104},       {ErrorCode::kProgramRefused, 105},
      {ErrorCode::kFilterNamesNothing, 106}, {ErrorCode::kContradiction, 107},
      {ErrorCode::kNoMemory, 108},           {ErrorCode::kOverBudget, 109},
      {ErrorCode::kFileUnreadable, 110},     {ErrorCode::kNotARecording, 111},
      {ErrorCode::kNewerSchema, 112},        {ErrorCode::kCorruptRecording, 113},
      {ErrorCode::kFileUnwritable, 114},     {ErrorCode::kInvalidRules, 115},
      {ErrorCode::kCommandNotFound, 120},    {ErrorCode::kCommandNotExecutable, 121},
      {ErrorCode::kNoSuchUser, 122}};
  for (const auto& [code, number] : table) {
    CHECK(static_cast<int>(code) == number);
    CHECK(to_string(code) == "TRC" + std::to_string(number));
  }
  CHECK(to_string(static_cast<ErrorCode>(999)) == "TRC999");
}

TEST_CASE("an error's text lists all problems, each with its code and its fix") {
  const Error error(std::vector<Problem>{{ErrorCode::kPermission, EPERM, "CAP_BPF is missing", "run as root", {}},
                                         {ErrorCode::kNoBtf, 0, "no type information", {}, "line one\nline two"}});
  CHECK(error.code() == ErrorCode::kPermission);
  CHECK(error.error_number() == EPERM);
  CHECK(error.problems().size() == 2);
  const std::string text = error.what();
  for (const std::string& part : {std::string("CAP_BPF is missing [TRC102]"), std::string("fix:    run as root"),
                                  std::string(std::strerror(EPERM)), std::string("no type information [TRC103]"),
                                  std::string("line one\nline two")}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("an error without a problem is a defect of libtracer, not a crash") {
  const Error error((std::vector<Problem>()));
  CHECK(error.code() == ErrorCode::kInternal);
  CHECK(error.error_number() == 0);
}

TEST_CASE("an error's text outlives the copy it was thrown as") {
  std::string text;
  try {
    throw Error({ErrorCode::kNoMemory, 0, "no memory for maps", {}, {}});
  } catch (const std::exception& e) {
    const Error copy = dynamic_cast<const Error&>(e);
    text = copy.what();
  }
  CHECK(text == "no memory for maps [TRC108]");
}
