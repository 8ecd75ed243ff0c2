// SPDX-License-Identifier: Apache-2.0
#include "source/proc/container_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/bounded_json.hpp"
#include "base/home_folder.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace tracer::internal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostFileBytes = 16u << 20;
constexpr std::size_t kMostFileBytesOfUser = 1u << 20;
constexpr std::size_t kMostTextBytes = 512;

Json parsed(std::string_view text) {
  constexpr std::size_t kMostDepth = 32;
  // A value takes more memory than the text of the shortest ones. In what runtimes write, values have names.
  constexpr std::size_t kBytesOfValue = 8;
  constexpr std::size_t kValuesOfShortText = 4096;
  return bounded_json(text, {.most_depth = kMostDepth, .most_values = kValuesOfShortText + text.size() / kBytesOfValue})
      .json;
}

/// "/metadata/image-name": a text on the way is JSON again.
std::optional<std::string> text_at(const Json& json, const std::vector<std::string>& steps) {
  const Json* at = &json;
  Json inner;
  for (const std::string& step : steps) {
    if (at->is_string()) {
      inner = parsed(at->get_ref<const std::string&>());
      at = &inner;
    }
    if (at->is_object()) {
      const auto found = at->find(step);
      if (found == at->end()) return std::nullopt;
      at = &*found;
    } else if (at->is_array()) {
      const auto index = parse_number<std::size_t>(step);
      if (!index || *index >= at->size()) return std::nullopt;
      at = &(*at)[*index];
    } else {
      return std::nullopt;
    }
  }
  if (!at->is_string()) return std::nullopt;
  const auto& text = at->get_ref<const std::string&>();
  if (text.empty() || text.size() > kMostTextBytes) return std::nullopt;
  return text;
}

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  if (const std::size_t at = text.find(word); at != std::string::npos) text.replace(at, word.size(), by);
  return text;
}

/// A file that nobody but `owner` or root can have written. The last name is followed nowhere.
std::optional<std::string> read_file_of(uid_t owner, const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat about = {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != owner ||
      about.st_size < 0 ||
      static_cast<std::size_t>(about.st_size) > (owner == 0 ? kMostFileBytes : kMostFileBytesOfUser))
    return std::nullopt;
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

constexpr std::size_t kMostPaths = 64;

/// The paths that begin with `folder` and go on as `pattern`, where a part with a `*` stands for any names that are
/// there. Not by glob(), which keeps all that match.
void add_paths(const std::string& folder, std::string_view pattern, std::vector<std::string>& paths) {
  constexpr int kMostNames = 10'000;
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return static_cast<void>(paths.push_back(folder + std::string(pattern)));
  const std::size_t begin = pattern.rfind('/', star) + 1;
  const std::size_t end = std::min(pattern.find('/', star), pattern.size());
  const std::string above = folder + std::string(pattern.substr(0, begin));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(above.c_str()), ::closedir);
  for (int seen = 0; listing && seen < kMostNames && paths.size() < kMostPaths; ++seen) {
    const dirent* const entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.' && glob_matches(pattern.substr(begin, end - begin), entry->d_name))
      add_paths(above + entry->d_name, pattern.substr(end), paths);
  }
}

}  // namespace

std::optional<ContainerFacts> container_facts(std::string_view text, const ContainerFile& file, std::string_view id) {
  Json json = parsed(text);
  if (json.is_array()) {
    Json own(Json::value_t::discarded);
    for (Json& each : json) {
      const auto named = each.is_object() ? each.find("id") : each.end();
      if (each.is_object() && named != each.end() && named->is_string() && named->get_ref<const std::string&>() == id)
        own = std::move(each);
    }
    json = std::move(own);
  }
  if (!json.is_object()) return std::nullopt;
  ContainerFacts facts{text_at(json, file.name), text_at(json, file.image)};
  // Docker's names are paths.
  if (facts.name && facts.name->size() > 1 && facts.name->front() == '/') facts.name->erase(0, 1);
  if (!facts.name && !facts.image) return std::nullopt;
  return facts;
}

ContainerFacts read_container_facts(const ContainerQuestion& question, const std::string& root) {
  const auto home = question.owner ? home_folder(*question.owner) : std::nullopt;
  for (const ContainerFile& file : question.files) {
    if (file.path.starts_with("{home}") != question.owner.has_value() || (question.owner && !home)) continue;
    const std::string path = replaced(replaced(file.path, "{home}", home.value_or("")), "{id}", question.id);
    std::vector<std::string> paths;
    add_paths(root, path, paths);
    for (const std::string& each : paths) {
      const auto text = read_file_of(question.owner.value_or(0), each);
      if (auto facts = text ? container_facts(*text, file, question.id) : std::nullopt) return std::move(*facts);
    }
  }
  return {};
}

std::optional<uid_t> owner_of_slice(std::string_view cgroup) {
  constexpr std::string_view kBegin = "/user-";
  constexpr std::string_view kEnd = ".slice";
  const std::size_t at = cgroup.find(kBegin);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = cgroup.substr(at + kBegin.size());
  const std::size_t end = rest.find(kEnd);
  const auto uid = end == std::string_view::npos ? std::nullopt : parse_number<uid_t>(rest.substr(0, end));
  // What root runs from a terminal is where the system's are.
  return uid == uid_t{0} ? std::nullopt : uid;
}

}  // namespace tracer::internal
