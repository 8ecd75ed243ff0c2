#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs a build and uses it as somebody else's project would.
#
#   package_test.sh BUILD_DIR VERSION
#
# CMAKE, CXX, EXTRA_CXXFLAGS: the programs to use, and flags that the library was built with too.

set -euo pipefail

build=$1
version=$2
series=${version%.*}
here=$(cd "$(dirname "$0")" && pwd)
cmake=${CMAKE:-cmake}
cxx=${CXX:-c++}
read -ra extra <<<"${EXTRA_CXXFLAGS:-}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

expect_version() { # name, command...
    local name=$1 output
    shift
    if ! output=$("$@" 2>&1); then
        fail "$name: $output"
    elif [[ $output != "tracer $version" ]]; then
        fail "$name printed '$output' instead of 'tracer $version'"
    else
        echo "ok: $name"
    fi
}

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
library=$(find "$prefix" -name libtracer.so)
archive=$(find "$prefix" -name libtracer.a)
pc=$(find "$prefix" -name tracer.pc)
libdir_c=$(dirname "$(find "$prefix" -name libtracer-c.so)")
for needed in "$library" "$archive" "$pc" "$prefix/bin/tracerd" "$prefix/libexec/tracer/tracer-gpu" "$prefix/include/tracer/tracer.hpp" \
    "$prefix/include/tracer/version.hpp" "$prefix/include/tracer.h" \
    "$prefix/include/tracer/fields.h" "$prefix/include/tracer/arrow.h" "$libdir_c/libtracer-c.so" "$libdir_c/pkgconfig/tracer-c.pc"; do
    [[ -e $needed ]] || fail "not installed: ${needed:-the library, the archive or tracer.pc}"
done
[[ $failures -eq 0 ]] || exit 1
libdir=$(dirname "$library")

# --- CMake ---

if "$cmake" -S "$here/consumer" -B "$work/cmake" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="${extra[*]-}" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$work/cmake.log" 2>&1 &&
    "$cmake" --build "$work/cmake" >>"$work/cmake.log" 2>&1; then
    expect_version "CMake, tracer::tracer" "$work/cmake/consumer_shared"
    expect_version "CMake, tracer::static" "$work/cmake/consumer_static"
    expect_version "CMake, tracer::c" "$work/cmake/consumer_c"
    ldd "$work/cmake/consumer_static" | grep -q libtracer && fail "the consumer of tracer::static needs libtracer.so"
else
    cat "$work/cmake.log"
    fail "the CMake consumer does not build"
fi

# The versions of 0.x are not compatible with each other.
mkdir "$work/other"
printf 'cmake_minimum_required(VERSION 3.16)\nproject(other LANGUAGES CXX)\nfind_package(tracer 0.%s REQUIRED)\n' \
    "$((${series#*.} + 1))" >"$work/other/CMakeLists.txt"
"$cmake" -S "$work/other" -B "$work/other/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" \
    >/dev/null 2>&1 && fail "find_package takes $version for the next minor version"

# --- pkg-config ---

export PKG_CONFIG_PATH=$libdir/pkgconfig
if command -v pkg-config >/dev/null; then
    [[ $(pkg-config --modversion tracer) == "$version" ]] || fail "pkg-config --modversion tracer"
    read -ra shared <<<"$(pkg-config --cflags --libs tracer)"
    if "$cxx" -std=c++20 "${extra[@]}" "$here/consumer/consumer.cpp" "${shared[@]}" -o "$work/pc_shared"; then
        expect_version "pkg-config" env LD_LIBRARY_PATH="$libdir" "$work/pc_shared"
        readelf -d "$work/pc_shared" | grep -q "NEEDED.*\[libtracer.so.$series\]" || fail "pkg-config: not linked to the .so"
    else
        fail "the pkg-config consumer does not build"
    fi

    # The C interface, for a program that has no C++ compiler and no libtracer.so.
    read -ra shared <<<"$(pkg-config --cflags --libs tracer-c)"
    if "${CC:-cc}" -std=c99 "${extra[@]}" "$here/consumer/consumer.c" "${shared[@]}" -o "$work/pc_c"; then
        expect_version "pkg-config, tracer-c" env LD_LIBRARY_PATH="$libdir" "$work/pc_c"
        readelf -d "$work/pc_c" | grep -q "NEEDED.*\[libtracer-c.so.0\]" || fail "pkg-config: not linked to libtracer-c.so.0"
        readelf -d "$work/pc_c" | grep -q "NEEDED.*\[libtracer.so" && fail "a C program needs the library of C++"
    else
        fail "the pkg-config consumer of C does not build"
    fi

    # What --static adds must be enough for the archive alone: with no libtracer.so to fall back to.
    mkdir "$work/shared"
    mv "$libdir"/libtracer.so* "$work/shared/"
    library=$work/shared/libtracer.so
    read -ra static <<<"$(pkg-config --static --cflags --libs tracer)"
    if "$cxx" -std=c++20 "${extra[@]}" "$here/consumer/consumer.cpp" "${static[@]}" -o "$work/pc_static"; then
        expect_version "pkg-config --static" "$work/pc_static"
    else
        fail "the pkg-config --static consumer does not build"
    fi
    if [[ ${#extra[@]} -eq 0 ]]; then
        if "$cxx" -std=c++20 -static "$here/consumer/consumer.cpp" "${static[@]}" -o "$work/pc_all_static"; then
            expect_version "pkg-config --static, with c++ -static" "$work/pc_all_static"
        else
            fail "the pkg-config --static consumer does not link with -static"
        fi
    fi
else
    echo "SKIP: no pkg-config"
fi

# --- the shared library ---

soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[[ $soname == "libtracer.so.$series" ]] || fail "SONAME is '$soname' instead of libtracer.so.$series"

nm -D --defined-only "$library" | grep -v ' A ' >"$work/symbols"
[[ -s $work/symbols ]] || fail "the library exports nothing"
# Ours, and what the compiler makes of std templates for any caller: weak (V, W, u), in std:: or __gnu_cxx::. Also the types
# of functions of built-in types, which std::function needs.
foreign=$(c++filt <"$work/symbols" | sed 's/^[0-9a-f]* //' |
    grep -vE '^[A-Za-z] (virtual thunk to |non-virtual thunk to |guard variable for |typeinfo (name )?for |vtable for |VTT for )*tracer::' |
    grep -vE '^[VWu] ((typeinfo (name )?for|vtable for|VTT for|guard variable for) |[a-z ]*)*(std|__gnu_cxx)::' |
    grep -vE '^[VWu] .*\b(std|__gnu_cxx)::[A-Za-z_:]+<' |
    grep -vE '^V typeinfo (name )?for ((bool|char|int|long|short|unsigned|void|noexcept)\b|[ ,*()])+$' || true)
if [[ -n ${foreign} && ${#extra[@]} -eq 0 ]]; then
    fail "symbols outside namespace tracer:"
    echo "$foreign" | head -40
fi
internal=$(c++filt <"$work/symbols" | grep -E ' tracer::(internal|[a-z_]+_internal)::' || true)
[[ -z $internal ]] || echo "note: exported though internal:"$'\n'"$internal"
echo "$(wc -l <"$work/symbols") exported symbols, $(c++filt <"$work/symbols" | grep -c 'tracer::') of them of tracer"

# --- the headers ---

leaks=$(grep -rnE '#[[:space:]]*include[[:space:]]*[<"](linux/|bpf/|msgpack|fmt/|toml|zlib|zstd)' "$prefix/include" || true)
[[ -z $leaks ]] || fail "a public header includes what users may not have:"$'\n'"$leaks"
for header in "$prefix"/include/tracer/*.h*; do
    name=tracer/$(basename "$header")
    # Twice: its guard, too.
    printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
        "$cxx" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I"$prefix/include" -x c++ - ||
        fail "$name does not compile alone"
done
for source in "$here"/../../include/tracer/*.h "$here"/../../include/tracer/*.hpp; do
    [[ -e $prefix/include/tracer/$(basename "$source") ]] || fail "not installed: $(basename "$source")"
done

[[ $failures -eq 0 ]] || { echo "$failures failed"; exit 1; }
echo "the package is fine"
