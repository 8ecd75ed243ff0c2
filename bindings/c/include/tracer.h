/* SPDX-License-Identifier: Apache-2.0 */
/* libtracer's C interface: libtracer-c.so. C99, C11 and C++. docs/c.md is the guide.
 *
 * Names: tracer_<noun>_<verb>; only tracer_version() and tracer_check(), about the library and its machine, have no
 * noun. A function that can fail returns a tracer_status, 0 or negative, or a count that is negative on failure. Its
 * last argument is a tracer_error, which may be NULL, unless the status says everything: getters, and functions that
 * request something or take it back. A missing required pointer is TRACER_ERROR_INVALID_ARGUMENT, never a crash. A
 * function stores the object that it creates through `out`, which is NULL on failure. A function that only allocates
 * memory returns the object, or NULL. The library never prints, aborts, or installs a signal handler.
 *
 * Ownership: the caller owns what a function creates, and frees it with tracer_<noun>_free(); NULL is fine there. A
 * const pointer is borrowed from the object that it came from, for as long as its comment says. Arguments are copied,
 * unless a comment says otherwise.
 *
 * Structs that a caller declares begin with `size`: use the TRACER_…_INIT. It tells a later libtracer which members
 * exist. A struct with `size` may grow at its end; nothing else changes. Opaque handles have no size that a caller
 * could know. Elements of arrays are such structs, all with the same `size`, or frozen: tracer_string and
 * tracer_name_value have no `size` and never grow, because a caller could not step through an array of them. Further
 * facts get their own array, in the struct that has the first one. `reserved` members are 0, and members that an option
 * does not use are refused unless 0: both may get a meaning later.
 *
 * Threads: the comment of each noun says which threads may use it. Callbacks run on the session's thread, or in the
 * call that delivers. A function that waits for callbacks returns TRACER_ERROR_IN_CALLBACK inside one.
 *
 * Forks: a session, its handles, a command and a writer belong to the process that created them. In a forked child,
 * their functions return TRACER_FORKED, or nothing, and the free functions only discard the handle: they free no memory
 * and stop nothing. Events, buffers, lists, texts, errors, traces of commands and the pid of a command remain valid in
 * the child. Use a recording in the parent or in the child, but not in both: they share the file position.
 *
 * Strings are bytes with a length: see tracer_string. Arguments, paths, commands, and names of tasks are the bytes of
 * the kernel or the engine, mostly UTF-8; they have no NUL. Messages and the names of fields are UTF-8. */
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
