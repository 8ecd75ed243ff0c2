// SPDX-License-Identifier: Apache-2.0
/// What becomes of the records of probes on GPU drivers, and which functions are probed.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/event.hpp>

#include "collect.hpp"
#include "rules/gpu_library_rules.hpp"
#include "source/gpu/driver_libraries.hpp"
#include "temp_file.hpp"
#include "wire_builder.hpp"

using namespace tracer;
using collect::Stages;
using tracer::internal::driver_libraries;
using tracer::internal::EventRecord;
using tracer::internal::GpuFunction;
using tracer::internal::GpuLibraryRule;
using tracer::internal::GpuLibraryRules;
using wire::Who;

namespace {

const Who kUser{.pid = 42, .start_ns = 1000, .comm = "python"};
const char* const kPath = "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54";

constexpr tracer_gpu_sums kSums{.allocations = 1,
                                .allocated_bytes = 2,
                                .failed_allocations = 3,
                                .frees = 4,
                                .waits = 5,
                                .wait_ns = 6,
                                .context_switches = 7};

EventRecord of_living(std::uint32_t pid, std::uint64_t start_ns) {
  GpuUse use;
  use.time_ns = 1500;
  use.waits = 1;
  EventRecord record;
  record.only_of_known = true;
  record.identity.pid = pid;
  record.identity.start_ns = start_ns;
  record.event = std::make_shared<const internal::UnjoinedEventOf<GpuUse>>(use);
  return record;
}

const GpuLibraryRule& rule_of(const std::string& interface) {
  for (const GpuLibraryRule& rule : GpuLibraryRules::builtin().libraries())
    if (rule.interface == interface) return rule;
  FAIL("no rule of " << interface);
  throw 0;
}

const GpuFunction* function_of(const GpuLibraryRule& rule, const std::string& name) {
  for (const GpuFunction& function : rule.functions)
    if (function.name == name) return &function;
  return nullptr;
}

/// The mistakes, with their lines.
std::string mistakes_of(const std::string& toml) {
  try {
    GpuLibraryRules::parse("schema = 1\n" + toml, "rules");
  } catch (const Error& error) {
    std::string all;
    for (const Problem& problem : error.problems()) all += problem.what + "\n";
    return all;
  }
  return {};
}

}  // namespace

TEST_CASE("what a process asked of a GPU's driver is an event before its exit") {
  Stages stages;
  stages.push(wire::start_record(kUser));
  stages.push(wire::gpu_use_record(kUser, kSums, kPath, 2500));
  stages.push(wire::exit_record(kUser, {.time_ns = 3000, .program_start_ns = 1000}));
  REQUIRE(stages.events.size() == 3);
  CHECK(stages.events[1].kind() == EventKind::kGpuUse);
  const auto use = stages.last<GpuUse>();
  CHECK(use.time_ns == 2500);
  CHECK(use.process->pid == 42);
  CHECK(use.interface == "cuda");
  CHECK(use.library == kPath);
  CHECK(use.allocations == 1);
  CHECK(use.allocated_bytes == 2);
  CHECK(use.failed_allocations == 3);
  CHECK(use.frees == 4);
  CHECK(use.waits == 5);
  CHECK(use.wait_ns == 6);
  CHECK(use.context_switches == 7);
}

TEST_CASE("a library's path without an end is that of its whole room") {
  Stages stages;
  stages.push(wire::start_record(kUser));
  stages.push(wire::gpu_use_record(kUser, kSums, std::string(TRACER_GPU_PATH_SIZE, 'x')));
  CHECK(stages.last<GpuUse>().library == std::string(TRACER_GPU_PATH_SIZE, 'x'));
}

TEST_CASE("what is read of a living process makes no process, and changes none") {
  Stages stages;
  stages.correlator.on_record(of_living(42, 1000), stages.events);
  CHECK(stages.events.empty());
  stages.push(wire::start_record(kUser));
  // The number of another by now.
  stages.correlator.on_record(of_living(42, 999), stages.events);
  CHECK(stages.all<GpuUse>().empty());
  stages.correlator.on_record(of_living(42, 1000), stages.events);
  REQUIRE(stages.all<GpuUse>().size() == 1);
  CHECK(stages.last<GpuUse>().process->program->comm == "python");
}

TEST_CASE("the filter leaves out what processes asked of a GPU's driver") {
  Stages stages(Filter().include_tool("samtools*"));
  stages.push(wire::start_record(kUser));
  stages.push(wire::gpu_use_record(kUser, kSums, kPath));
  stages.correlator.on_record(of_living(42, 1000), stages.events);
  CHECK(stages.all<GpuUse>().empty());
}

TEST_CASE("no function that launches work, or only asks, is probed") {
  std::set<std::string> interfaces;
  for (const GpuLibraryRule& rule : GpuLibraryRules::builtin().libraries()) {
    interfaces.insert(rule.interface);
    CHECK_FALSE(rule.files.empty());
    CHECK(rule.functions.size() > 10);
    for (const GpuFunction& function : rule.functions) {
      CAPTURE(function.name);
      for (const char* part : {"Launch", "Query", "Record", "Memset", "HtoD"})
        CHECK(function.name.find(part) == std::string::npos);
    }
  }
  CHECK(interfaces == std::set<std::string>{"cuda", "hip"});
}

TEST_CASE("which arguments of a function say how much") {
  const GpuLibraryRule& cuda = rule_of("cuda");
  const GpuFunction* const plain = function_of(cuda, "cuMemAlloc_v2");
  REQUIRE(plain != nullptr);
  CHECK(plain->does == GpuFunction::Does::kAllocate);
  CHECK(plain->arguments == std::array<std::uint8_t, 2>{2, 0});
  const GpuFunction* const pitched = function_of(cuda, "cuMemAllocPitch_v2");
  REQUIRE(pitched != nullptr);
  CHECK(pitched->arguments == std::array<std::uint8_t, 2>{3, 4});
  const GpuFunction* const freed = function_of(cuda, "cuMemFree_v2");
  REQUIRE(freed != nullptr);
  CHECK(freed->does == GpuFunction::Does::kFree);
  CHECK(freed->arguments == std::array<std::uint8_t, 2>{1, 0});
  const GpuFunction* const wait = function_of(rule_of("hip"), "hipDeviceSynchronize");
  REQUIRE(wait != nullptr);
  CHECK(wait->does == GpuFunction::Does::kWait);
  CHECK(wait->arguments == std::array<std::uint8_t, 2>{0, 0});
}

TEST_CASE("mistakes in rules of GPU libraries are named") {
  const std::string library = "folders = [\"/lib\"]\n[[library]]\ninterface = \"cuda\"\nfiles = [\"libcuda.so.1\"]\n";
  const std::string function = library + "[[library.function]]\n";
  CHECK(mistakes_of(library).empty());
  CHECK(mistakes_of(function + "does = \"wait\"\nnames = [\"a\"]\n").empty());
  struct Case {
    std::string toml;
    std::string mistake;
  };
  const std::vector<Case> cases = {
      {"folders = [\"lib\"]\n", "no absolute path"},
      {"[[library]]\ninterface = \"a_name_that_is_long\"\nfiles = [\"a\"]\n", "more than 15 bytes"},
      {"[[library]]\ninterface = \"cuda\"\nfiles = [\"/lib/libcuda.so.1\"]\n", "is a path"},
      {function + "does = \"launch\"\nnames = [\"a\"]\n", "\"does\" must be"},
      {function + "does = \"allocate\"\nnames = [\"a\"]\n", "\"bytes\" belongs to what allocates"},
      {function + "does = \"wait\"\nnames = [\"a\"]\nfreed = 1\n", "\"bytes\" belongs to what allocates"},
      {function + "does = \"allocate\"\nnames = [\"a\"]\nbytes = [5]\n", "from 1 to 4"},
      {function + "does = \"allocate\"\nnames = [\"a\"]\nbytes = [1, 2, 3]\n", "one argument or two"},
      {function + "does = \"free\"\nnames = [\"a\"]\nfreed = 0\n", "\"freed\" must be from 1 to 4"},
      {function + "does = \"wait\"\nnames = [\"a\", \"a\"]\n", "is there twice"},
      {function + "does = \"wait\"\nnames = [\"a\"]\nwhen = 1\n", "when"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.toml);
    CHECK(mistakes_of(each.toml).find(each.mistake) != std::string::npos);
  }
}

TEST_CASE("a driver's library is found once, behind links, unless others may change it") {
  namespace fs = std::filesystem;
  const TempFile temp;
  const fs::path folder = temp.folder();
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b");
  const auto rules = GpuLibraryRules::parse(
      "schema = 1\nfolders = [\"" + (folder / "none").string() + "\", \"" + (folder / "a").string() + "\", \"" +
          (folder / "b").string() +
          "\"]\n[[library]]\ninterface = \"cuda\"\nfiles = [\"libcuda.so.1\"]\n[[library]]\ninterface = \"hip\"\n"
          "files = [\"libamdhip64.so.6\"]\n",
      "rules");
  CHECK(driver_libraries(rules).empty());
  const fs::path real = folder / "a" / "libcuda.so.550.54";
  std::ofstream(real) << "driver";
  fs::permissions(real, fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  fs::create_symlink("libcuda.so.550.54", folder / "a" / "libcuda.so.1");
  fs::create_symlink(real, folder / "b" / "libcuda.so.1");
  fs::create_directory(folder / "b" / "libamdhip64.so.6");
  auto found = driver_libraries(rules);
  REQUIRE(found.size() == 1);
  CHECK(found[0].path == fs::canonical(real).string());
  CHECK(found[0].rule->interface == "cuda");
  struct stat status {};
  REQUIRE(::stat(real.c_str(), &status) == 0);
  CHECK(found[0].inode == status.st_ino);
  CHECK(found[0].device == status.st_dev);
  fs::permissions(real, fs::perms::group_write, fs::perm_options::add);
  CHECK(driver_libraries(rules).empty());
  fs::permissions(real, fs::perms::group_write, fs::perm_options::remove);
  CHECK(driver_libraries(rules).size() == 1);
  // Another file in its place is another library.
  fs::rename(real, folder / "a" / "old");
  std::ofstream(real) << "newer driver";
  fs::permissions(real, fs::perms::owner_read | fs::perms::others_read);
  found = driver_libraries(rules);
  REQUIRE(found.size() == 1);
  CHECK(found[0].inode != status.st_ino);
}
