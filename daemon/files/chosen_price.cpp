// SPDX-License-Identifier: Apache-2.0
#include "files/chosen_price.hpp"

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "files/user_folder.hpp"
#include "history/owner.hpp"
#include "report/waste.hpp"
#include "show/printable.hpp"

namespace tracerd {

ChosenPrice chosen_price(const std::optional<tracer::User>& user) {
  const std::filesystem::path folder = user_folder(user, "XDG_DATA_HOME", ".local/share");
  if (folder.empty()) return {};
  try {
    const tracer::internal::FilesOf rights(user);
    return {.price = tracer::read_price(folder / "libtracer" / "price.json")};
  } catch (const tracer::Error& error) {
    const bool is_there = error.error_number() != ENOENT && error.error_number() != ENOTDIR;
    return {.problem = is_there ? error.problems().front().what : std::string()};
  }
}

std::string set_price(tracer::Report& report, const ChosenPrice& chosen) {
  report.price = chosen.price;
  const tracer::internal::Waste waste = tracer::internal::waste_of(report);
  if (chosen.problem.empty() || waste.cpu_hours.tasks + waste.memory_gib_hours.tasks == 0) return {};
  return fmt::format("tracerd: the waste has no cost: {}; choose a price again: tracer prices use TYPE\n",
                     tracer::internal::printable(chosen.problem));
}

}  // namespace tracerd
