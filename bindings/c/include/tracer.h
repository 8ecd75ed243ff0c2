/* SPDX-License-Identifier: Apache-2.0 */
/* libtracer's C interface: libtracer-c.so. C99, C11 and C++. docs/c.md is the guide.
 *
 * Names: tracer_<noun>_<verb>; what is of no noun but the library and its machine is tracer_version() and
 * tracer_check(). A function that can fail returns a tracer_status, 0 or negative, or a count that is negative where it
 * fails. It takes a tracer_error last, which may be NULL, except where the status says all: getters, and what asks for
 * something or takes it back. NULL where something is needed is TRACER_ERROR_INVALID_ARGUMENT, never a crash. What a
 * function makes is stored through `out`, which is NULL where it fails. What makes plain memory alone returns it, NULL
 * where there is none. The library never prints, aborts, or installs a signal handler.
 *
 * Ownership: what a function makes is the caller's, who frees it with tracer_<noun>_free(); NULL is fine there. What is
 * const is borrowed: from the object that it came from, for as long as its comment says. What is passed is copied,
 * unless a comment says otherwise.
 *
 * Structs that a caller has begin with `size`: use the TRACER_…_INIT. A later libtracer knows by it what is there. What
 * begins with `size` may grow at its end; nothing else changes. Opaque handles have no size that a caller could know.
 * What stands in arrays is either such a struct, all of one `size`, or frozen: tracer_string and tracer_name_value have
 * no `size` and never grow, as nobody could step through an array of them. What is to be said besides gets an array of
 * its own, in the struct that has theirs. Fields that are `reserved` are 0, and what an option has no use for is
 * refused: both may get a meaning.
 *
 * Threads: each noun says which may use it. Callbacks run on the session's thread, or in what delivers. A function that
 * waits for callbacks gives TRACER_ERROR_IN_CALLBACK inside one.
 *
 * Forks: a session, what was made of it, a command and a writer are of the process that made them. In a fork's child
 * their functions give TRACER_FORKED, or nothing, and the free functions only forget: memory is not given back, nothing
 * is stopped. Events, buffers, lists, texts, errors, traces of commands and the pid of a command are as good in the
 * child. A recording is that of the parent or that of the child, but not of both: they share where it is read.
 *
 * Strings are bytes with a length: see tracer_string. Arguments, paths, commands, and names of tasks are whatever bytes
 * the kernel or the engine has, most often UTF-8; they have no NUL. Messages and the names of fields are UTF-8.
 */
#ifndef TRACER_H
#define TRACER_H

#include <tracer/base.h>
#include <tracer/command.h>
#include <tracer/context.h>
#include <tracer/event.h>
#include <tracer/explain.h>
#include <tracer/fields.h>
#include <tracer/flat.h>
#include <tracer/list.h>
#include <tracer/queue.h>
#include <tracer/recording.h>
#include <tracer/report.h>
#include <tracer/session.h>
#include <tracer/table.h>
#include <tracer/totals.h>

#endif
