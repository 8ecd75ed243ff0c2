// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tracer/process.hpp>

namespace tracer::internal {

/// What a program does, in few words: its name and its arguments ("align.sh S1", "samtools sort a.bam"); the script of
/// a shell's -c, and its arguments ("sort $0 S1"). Long ones are cut. Empty: neither its name nor its arguments are
/// known.
std::string command_name(const Program& program);

}  // namespace tracer::internal
