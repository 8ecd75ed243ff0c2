# SPDX-License-Identifier: Apache-2.0
# What the system must have; docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
# Only its headers: lib/base/format.cpp compiles the rest.
add_library(tracer_fmt INTERFACE)
target_include_directories(tracer_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf>=1.1)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.37)
find_path(TRACER_MSGPACK_INCLUDE msgpack.hpp REQUIRED)
find_path(TRACER_TOML_INCLUDE toml++/toml.h REQUIRED)
find_path(TRACER_JSON_INCLUDE nlohmann/json.hpp REQUIRED)

# Where the daemon is linked statically.
find_library(LIBBPF_STATIC libbpf.a)
find_library(LIBELF_STATIC libelf.a)
find_library(LIBZ_STATIC libz.a)
find_library(LIBZSTD_STATIC libzstd.a)
find_library(LIBSQLITE_STATIC libsqlite3.a)
