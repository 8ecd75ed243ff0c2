// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "base/text.hpp"
#include "source/proc/pid_namespace.hpp"

using tracer::internal::shows_own_namespace;

TEST_CASE("a /proc that shows a process in two namespaces is not of its own") {
  CHECK(shows_own_namespace("Name:\tx\nNStgid:\t12\nNSpid:\t12\nNSpgid:\t12\n"));
  CHECK_FALSE(shows_own_namespace("Name:\tx\nNStgid:\t4711\t1\nNSpid:\t4711\t1\nNSpgid:\t0\t0\n"));
  CHECK_FALSE(shows_own_namespace("Name:\tx\nNSpid:\t4711\t12\t1\n"));
  CHECK_FALSE(shows_own_namespace("Name:\tx\nNSpid:\t4711 1\n"));
  // The last line, without an end.
  CHECK(shows_own_namespace("Name:\tx\nNSpid:\t12"));
  CHECK_FALSE(shows_own_namespace("Name:\tx\nNSpid:\t12\t1"));
  // The numbers of others say nothing.
  CHECK(shows_own_namespace("Name:\tx\nNSpid:\t12\nNSsid:\t7\t1\n"));
}

TEST_CASE("a /proc of no namespace that knows the process is not of its own") {
  CHECK_FALSE(shows_own_namespace("Name:\tx\nNSpid:\n"));
  CHECK_FALSE(shows_own_namespace("Name:\tx\nNSpid:\t\nNSsid:\t1\n"));
}

TEST_CASE("a /proc that says nothing of namespaces is taken as it is") {
  // Before 4.1, or without CONFIG_PID_NS.
  CHECK(shows_own_namespace(""));
  CHECK(shows_own_namespace("Name:\tx\nPid:\t12\n"));
  // A name can't pretend to be a line: the kernel escapes its end of line.
  CHECK(shows_own_namespace("Name:\tNSpid: 1 2\nNSpid:\t12\n"));
}

TEST_CASE("the /proc of this machine is of this namespace") {
  const auto status = tracer::internal::read_small_file("/proc/self/status", 65536);
  REQUIRE(status.has_value());
  CHECK(shows_own_namespace(*status));
}
