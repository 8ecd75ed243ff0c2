/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, errors, strings and versions. */
#ifndef TRACER_BASE_H
#define TRACER_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRACER_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* The ABI of this header: 0x00MMmm. A later libtracer-c.so with the same SONAME has all of it. */
#define TRACER_ABI_VERSION 0x000001u
/* @since 0.1. The ABI of the loaded library. */
TRACER_API uint32_t tracer_abi_version(void);

/* Bytes, not text: mostly UTF-8, but paths and arguments are the kernel's bytes. If `data` is NULL, the string is
 * absent and `length` is 0. No NUL follows. In strings from the library, `data` belongs to the object that they came
 * from. This struct is frozen: it has no size. */
typedef struct tracer_string {
  const char* data;
  size_t length;
} tracer_string;

/* Makes a string from a text that ends with NUL; NULL: absent. */
static inline tracer_string tracer_string_of(const char* text) {
  tracer_string string;
  string.data = text;
  string.length = text == NULL ? 0 : strlen(text);
  return string;
}

/* @since 0.1. Such as "0.2.0". Constant. */
TRACER_API tracer_string tracer_version(void);

/* 0, or negative. -100 to -199 are the codes of docs/errors.md: TRC101 is -101. A number is never reused. */
typedef int32_t tracer_status;
enum {
  TRACER_OK = 0,
  TRACER_ERROR_INTERNAL = -100,
  TRACER_ERROR_INVALID_ARGUMENT = -101,
  TRACER_ERROR_PERMISSION = -102,
  TRACER_ERROR_NO_BTF = -103,
  TRACER_ERROR_KERNEL_TOO_OLD = -104,
  TRACER_ERROR_PROGRAM_REFUSED = -105,
  TRACER_ERROR_FILTER_NAMES_NOTHING = -106,
  TRACER_ERROR_CONTRADICTION = -107,
  TRACER_ERROR_NO_MEMORY = -108,
  TRACER_ERROR_OVER_BUDGET = -109,
  TRACER_ERROR_FILE_UNREADABLE = -110,
  TRACER_ERROR_NOT_A_RECORDING = -111,
  TRACER_ERROR_NEWER_SCHEMA = -112,
  TRACER_ERROR_CORRUPT_RECORDING = -113,
  TRACER_ERROR_FILE_UNWRITABLE = -114,
  TRACER_ERROR_INVALID_RULES = -115,
  TRACER_ERROR_IN_CALLBACK = -116,
  TRACER_ERROR_OLDER_SCHEMA = -117,
  TRACER_ERROR_PID_NAMESPACE = -118,
  TRACER_ERROR_NO_GPU = -119,
  TRACER_ERROR_COMMAND_NOT_FOUND = -120,
  TRACER_ERROR_COMMAND_NOT_EXECUTABLE = -121,
  TRACER_ERROR_NO_SUCH_USER = -122,
  TRACER_ERROR_NO_SERVICE = -140,
  TRACER_ERROR_SERVICE_VERSION = -141,
  TRACER_ERROR_SERVICE_REFUSED = -142,
  /* Only in this interface. */
  TRACER_ABSENT = -200,        /* The value is unknown, or there is none. */
  TRACER_WRONG_KIND = -201,    /* The event is of another kind than the field; the list has other elements. */
  TRACER_WRONG_TYPE = -202,    /* The field has another type than the getter. */
  TRACER_NO_SUCH_FIELD = -203, /* No field has this number in this libtracer. */
  TRACER_OUT_OF_RANGE = -204,  /* No element has this index. */
  TRACER_TIMED_OUT = -205,
  TRACER_ENDED = -206,      /* The session has ended, or the command was released before. */
  TRACER_FORKED = -207,     /* The handle was made by another process: a forked child can't use it. */
  TRACER_WRONG_SIZE = -208, /* A struct's `size` was not set, or it has fields that this libtracer does not know. */
  TRACER_REAPED = -209      /* Other code has waited for the process: its status is lost. */
};

/* @since 0.1. "TRC101"; for statuses of this interface only "absent", "wrong kind" …; "" if unknown. Constant. */
TRACER_API tracer_string tracer_status_name(tracer_status status);

/* An error. The caller declares it, `tracer_error error = TRACER_ERROR_INIT;`, a function that fails fills it, and
 * tracer_error_release() frees its contents. A function that gets a filled error releases it first. Functions also
 * accept NULL. Used by one thread at a time. */
typedef struct tracer_error {
  size_t size;          /* sizeof(tracer_error), set by the caller. */
  tracer_status status; /* The status that the function returned: that of the first problem. */
  int32_t error_number; /* errno of the first problem; 0: no system call failed. */
  size_t problem_count; /* Counts everything that is missing. */
  tracer_string text;   /* UTF-8, one screen: each problem with its code and its fix. Valid until the release. */
  void* private_data;   /* The library's. */
} tracer_error;

#define TRACER_ERROR_INIT \
  { sizeof(tracer_error), 0, 0, 0, {NULL, 0}, NULL }

/* An output that the library fills: the caller sets `size` first. Members that the library's version does not know are
 * zero. */
typedef struct tracer_problem {
  size_t size;
  tracer_status status;
  int32_t error_number; /* errno, or 0. */
  tracer_string what;   /* UTF-8, one line. */
  tracer_string fix;    /* One line; may be empty. */
  tracer_string detail; /* Such as the end of the verifier's log; may be empty, may have several lines. */
} tracer_problem;

#define TRACER_PROBLEM_INIT                                         \
  {                                                                 \
    sizeof(tracer_problem), 0, 0, {NULL, 0}, {NULL, 0}, { NULL, 0 } \
  }

/* @since 0.1. Texts are valid until the release. TRACER_OUT_OF_RANGE. */
TRACER_API tracer_status tracer_error_problem(const tracer_error* error, size_t index, tracer_problem* out);
/* @since 0.1. Frees its contents, and resets it to TRACER_ERROR_INIT. NULL, and a second call, are fine. */
TRACER_API void tracer_error_release(tracer_error* error);

/* A text that the library made for the caller. */
typedef struct tracer_text tracer_text;
/* @since 0.1. Valid as long as the text. Absent for NULL. */
TRACER_API tracer_string tracer_text_get(const tracer_text* text);
/* @since 0.1. */
TRACER_API void tracer_text_free(tracer_text* text);

#ifdef __cplusplus
}
#endif

#endif
