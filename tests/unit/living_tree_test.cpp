// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/visit/living_tree.hpp"

#include <vector>

#include <doctest/doctest.h>

using tracer::internal::LivingTree;

namespace {

using Pids = std::vector<std::uint32_t>;

tracer_wire_thread thread_of(std::uint32_t pid, std::uint32_t parent, std::uint32_t context, bool adopted = false) {
  tracer_wire_thread thread{};
  thread.header.pid = pid;
  thread.identity.parent_pid = parent;
  thread.identity.context_id = context;
  thread.newly_adopted = adopted ? 1 : 0;
  return thread;
}

Pids named(LivingTree& tree, std::size_t most = 1024) {
  const auto pids = tree.name(most);
  return {pids.begin(), pids.end()};
}

/// Those that were told.
Pids visit(LivingTree& tree, const std::vector<tracer_wire_thread>& threads) {
  Pids told;
  for (const auto& thread : threads)
    if (tree.see(thread)) told.push_back(thread.header.pid);
  tree.visited();
  return told;
}

}  // namespace

TEST_CASE("a tree names its top first, then the descendants that are in another context, however deep") {
  LivingTree tree(10, 2);
  CHECK(named(tree) == Pids{10});
  visit(tree,
        {thread_of(12, 11, 1), thread_of(10, 1, 2), thread_of(11, 10, 2), thread_of(13, 12, 3), thread_of(20, 1, 1)});
  CHECK_FALSE(tree.done());
  CHECK(named(tree, 1) == Pids{12});
  CHECK(named(tree) == Pids{12, 13});
  visit(tree, {thread_of(12, 11, 2), thread_of(10, 1, 2), thread_of(11, 10, 2), thread_of(13, 12, 2)});
  CHECK(tree.done());
  CHECK(named(tree).empty());
}

TEST_CASE("a tree of which something was taken in is looked at once more, as children may be visited before parents") {
  LivingTree tree(10, 2);
  named(tree);
  visit(tree, {thread_of(10, 1, 2, true)});
  CHECK_FALSE(tree.done());
  named(tree);
  visit(tree, {thread_of(10, 1, 2), thread_of(9, 10, 2, true)});
  CHECK_FALSE(tree.done());
  named(tree);
  visit(tree, {thread_of(10, 1, 2), thread_of(9, 10, 2)});
  CHECK(tree.done());
}

TEST_CASE("each process that was named is told once, from when it is in the context") {
  LivingTree tree(10, 2);
  named(tree);
  CHECK(visit(tree, {thread_of(10, 1, 2), thread_of(10, 1, 2), thread_of(11, 10, 1), thread_of(20, 1, 2)}) == Pids{10});
  CHECK(named(tree) == Pids{11});
  CHECK(visit(tree, {thread_of(10, 1, 2), thread_of(11, 10, 1)}).empty());
  CHECK(named(tree) == Pids{11});
  CHECK(visit(tree, {thread_of(10, 1, 2), thread_of(11, 10, 2), thread_of(11, 10, 2)}) == Pids{11});
}

TEST_CASE("a ring of parents, as pids that came again can show, ends") {
  LivingTree tree(10, 2);
  named(tree);
  visit(tree, {thread_of(10, 11, 2), thread_of(11, 10, 1)});
  CHECK(named(tree) == Pids{11});
}
