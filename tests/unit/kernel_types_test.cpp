// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/kernel_types.hpp"

#include <doctest/doctest.h>

#include "base/clock.hpp"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/cpu_list.hpp"

using namespace tracer::internal;

TEST_CASE("what a kernel lacks is a line of the check, with what to do") {
  const KernelTypes types;
  if (!types.available()) return;
  CHECK(types.has_member("task_struct", "start_boottime"));
  CHECK(types.has_member("dentry", "d_parent"));
  CHECK(types.has_member("kernfs_node", "id"));
  CHECK_FALSE(types.has_member("task_struct", "no_such_member"));
  CHECK_FALSE(types.has_member("no_such_structure", "member"));
  CHECK(types.has_helper("BPF_FUNC_map_lookup_elem"));
  CHECK_FALSE(types.has_helper("BPF_FUNC_no_such_helper"));

  const tracer::CheckItem good = member_item(types, "task_struct", "start_boottime", "identity", "Linux 5.5");
  CHECK(good.required);
  CHECK(good.available);
  CHECK_FALSE(good.problem.has_value());
  const tracer::CheckItem missing = member_item(types, "task_struct", "no_such_member", "accounts", "CONFIG_X=y");
  CHECK(missing.required);
  CHECK_FALSE(missing.available);
  REQUIRE(missing.problem.has_value());
  CHECK(missing.problem->fix == "use a kernel with CONFIG_X=y");
}

TEST_CASE("the last CPU of a list") {
  CHECK(end_of_cpu_list("0-1\n") == 2);
  CHECK(end_of_cpu_list("0\n") == 1);
  CHECK(end_of_cpu_list("0-3,8-11\n") == 12);
  CHECK(end_of_cpu_list("0-3,8") == 9);
  CHECK_FALSE(end_of_cpu_list("").has_value());
  CHECK_FALSE(end_of_cpu_list("\n").has_value());
  CHECK_FALSE(end_of_cpu_list("0-").has_value());
}

TEST_CASE("the offset of a time namespace is taken off the boot clock") {
  CHECK(parse_boot_offset_ns("monotonic           0         0\nboottime            0         0\n") == 0);
  CHECK(parse_boot_offset_ns("monotonic           5         0\nboottime        86400       7\n") == 86'400'000'000'007);
  CHECK(parse_boot_offset_ns("boottime  -3  0\n") == -3'000'000'000);
  CHECK(parse_boot_offset_ns("") == 0);
  CHECK(parse_boot_offset_ns("boottime x y\n") == 0);
}
