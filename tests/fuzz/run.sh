#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: tests/fuzz/run.sh SECONDS [BUILD-FOLDER]
# Builds the fuzzers with clang and runs each for SECONDS; 0: only builds. Exits non-zero on a crash; the input is left in BUILD-FOLDER/found.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: $0 SECONDS [BUILD-FOLDER]" >&2
  exit 2
fi
seconds=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${2:-$source/build/fuzz}

CC=clang CXX=clang++ cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DTRACER_DEVELOPER=ON -DTRACER_FUZZ=ON -DTRACER_STATIC_DAEMON=OFF
cmake --build "$build" --target fuzzers -- -j2
[ "$seconds" -gt 0 ] || exit 0
mkdir -p "$build/found"
"$build/tests/fuzz/fuzz_seeds" "$build/seeds"

failed=0
for name in fuzz_columns fuzz_files fuzz_gpu fuzz_kept fuzz_protocol fuzz_recording fuzz_rules fuzz_secrets fuzz_wire; do
  mkdir -p "$build/corpus/$name"
  echo "== $name for $seconds s"
  "$build/tests/fuzz/$name" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="$build/found/$name-" "$build/corpus/$name" "$build/seeds/$name" || failed=1
done
exit $failed
