// SPDX-License-Identifier: Apache-2.0
/// Programs whose processes and threads end in orders that are seldom met.
#pragma once

#include "truth_tools.hpp"

namespace truth {

/// So many children at a time, each with a second thread; all end when the last of them is there.
int threaded_crowd(const Arguments& arguments);
/// So many times: two threads compute, then the first one executes a program that ends at once. With a second argument
/// all on one CPU. Reports the id and the CPU time of each.
int exec_from_threads(const Arguments& arguments);
/// So many children at a time, whose ids are chosen by chance. 77: ids can't be chosen here.
int scattered_crowd(const Arguments& arguments);
/// A child waits long for a pipe, while another one, whose id is so much higher, waits for one again and again.
int pipe_waiters_apart(const Arguments& arguments);

/// So many children at a time, each with one thread; reports once all are there. When it may go on, they end. A few of
/// them compute before and after that, and report their id and their CPU time.
int quiet_crowd(const Arguments& arguments);
/// Has so many threads at a time; reports once they are there. When it may go on, has a child that has as many threads,
/// one after another.
int threads_beyond_room(const Arguments& arguments);
/// Has so many children at a time, each with a second thread; reports once they are there. When it may go on, each of
/// them has ten more threads, one after another.
int crews_beyond_room(const Arguments& arguments);

}  // namespace truth
