// SPDX-License-Identifier: Apache-2.0
/// What is read of the files in which container runtimes keep their containers.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "base/home_folder.hpp"
#include "rules/container_rules.hpp"
#include "source/proc/container_files.hpp"

using namespace tracer::internal;

namespace {

const std::string kId(64, 'a');
const std::string kOther(64, 'b');

class Root {
 public:
  Root() {
    std::string path = (std::filesystem::temp_directory_path() / "tracer-containers-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Root() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  const std::string& path() const { return path_; }
  std::string put(const std::string& name, const std::string& text) const {
    const std::string file = path_ + name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::string path_;
};

ContainerQuestion question_of(const std::string& cgroup, const std::string& id = kId) {
  const auto place = ContainerRules::builtin().place_of(cgroup, id);
  REQUIRE(place.has_value());
  return {id, place->files, owner_of_slice(cgroup)};
}

/// As root may read it: the tests may run as another user, whose files these are then.
ContainerFacts read(const ContainerQuestion& question, const Root& root) {
  return read_container_facts(question, root.path());
}

}  // namespace

TEST_CASE("each runtime's own files say how a container is called, and its image") {
  if (::geteuid() != 0) {
    MESSAGE("SKIP: only files of root are the system's");
    return;
  }
  struct Layout {
    std::string cgroup;
    std::string file;
    std::string text;
  };
  const std::string podman = R"([{"id":")" + kOther + R"(","names":["no"],"metadata":"{\"image-name\":\"no\"}"},)" +
                             R"({"id":")" + kId + R"(","names":["align"],"image":"f00",)" +
                             R"("metadata":"{\"image-name\":\"docker.io/library/bwa:0.7\",\"name\":\"align\"}"}])";
  const std::string kubernetes = R"({"annotations":{"io.kubernetes.cri.container-name":"align",)"
                                 R"("io.kubernetes.cri.image-name":"docker.io/library/bwa:0.7"}})";
  for (const auto& [cgroup, file, text] :
       {Layout{"/system.slice/docker-" + kId + ".scope", "/var/lib/docker/containers/" + kId + "/config.v2.json",
               R"({"Name":"/align","Image":"sha256:1","Config":{"Image":"docker.io/library/bwa:0.7"}})"},
        Layout{"/machine.slice/libpod-" + kId + ".scope",
               "/var/lib/containers/storage/overlay-containers/containers.json", podman},
        Layout{"/machine.slice/libpod-" + kId + ".scope",
               "/var/lib/containers/storage/vfs-containers/volatile-containers.json", podman},
        Layout{"/kubepods/burstable/pod0a1b/" + kId,
               "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + kId + "/config.json", kubernetes},
        Layout{"/kubepods.slice/kubepods-pod0a1b.slice/cri-containerd-" + kId + ".scope",
               "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + kId + "/config.json", kubernetes},
        Layout{"/kubepods.slice/kubepods-pod0a1b.slice/crio-" + kId + ".scope",
               "/run/containers/storage/overlay-containers/" + kId + "/userdata/config.json",
               R"({"annotations":{"io.kubernetes.container.name":"align",)"
               R"("io.kubernetes.cri-o.ImageName":"docker.io/library/bwa:0.7"}})"}}) {
    CAPTURE(file);
    const Root root;
    root.put(file, text);
    const ContainerFacts facts = read(question_of(cgroup), root);
    CHECK(facts.name == "align");
    CHECK(facts.image == "docker.io/library/bwa:0.7");
    // Of another container there is nothing.
    CHECK_FALSE(read(question_of(cgroup.substr(0, cgroup.find(kId)) + std::string(64, 'c') +
                                     cgroup.substr(cgroup.find(kId) + kId.size()),
                                 std::string(64, 'c')),
                     root)
                    .image.has_value());
  }
}

TEST_CASE("whose containers a cgroup's are follows from the slice") {
  CHECK(owner_of_slice("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-x.scope") == 1000u);
  CHECK_FALSE(owner_of_slice("/user.slice/user-0.slice/session-1.scope/libpod-x.scope").has_value());
  CHECK_FALSE(owner_of_slice("/machine.slice/libpod-x.scope").has_value());
  CHECK_FALSE(owner_of_slice("/user.slice/user-1x.slice/libpod-x.scope").has_value());
}

TEST_CASE("a user's cgroup learns nothing of the system's containers") {
  if (::geteuid() != 0) {
    MESSAGE("SKIP: only files of root are the system's");
    return;
  }
  const Root root;
  root.put("/var/lib/containers/storage/overlay-containers/containers.json",
           R"([{"id":")" + kId + R"(","names":["secret"],"metadata":"{\"image-name\":\"secret\"}"}])");
  const std::string scope = "libpod-" + kId + ".scope";
  CHECK(read(question_of("/machine.slice/" + scope), root).name == "secret");
  CHECK_FALSE(read(question_of("/user.slice/user-1000.slice/" + scope), root).name.has_value());
}

TEST_CASE("what somebody else has written, or a link, is not read") {
  if (::geteuid() != 0) {
    MESSAGE("SKIP: only root can give files away");
    return;
  }
  const Root root;
  const std::string name = "/var/lib/docker/containers/" + kId + "/config.v2.json";
  const ContainerQuestion question = question_of("/docker/" + kId);
  const std::string file = root.put(name, R"({"Name":"/align"})");
  CHECK(read(question, root).name == "align");
  REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
  CHECK_FALSE(read(question, root).name.has_value());
  std::filesystem::remove(file);
  std::filesystem::create_symlink(root.put("/elsewhere", R"({"Name":"/align"})"), file);
  CHECK_FALSE(read(question, root).name.has_value());
  std::filesystem::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(read(question, root).name.has_value());
}

TEST_CASE("whatever a file has in it, nothing but a text of some length is taken from it") {
  const ContainerFile file{"/x", {"names", "0"}, {"metadata", "image-name"}};
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("null"), std::string("[]"), std::string(100'000, '['),
        std::string(R"({"names":[],"metadata":7})"), std::string(R"({"names":{"0":1},"metadata":"{"})"),
        std::string(R"({"names":["","x"],"metadata":{"image-name":["a"]}})"),
        R"({"names":[")" + std::string(600, 'x') + R"("]})"}) {
    CAPTURE(text.substr(0, 50));
    CHECK_FALSE(container_facts(text, file, kId).has_value());
  }
  const auto facts = container_facts(R"({"names":["a\nb"],"metadata":{"image-name":"é"}})", file, kId);
  REQUIRE(facts.has_value());
  CHECK(facts->name == "a\nb");
  CHECK(facts->image == "é");
}

TEST_CASE("no more is read of a user's file than 1 MiB") {
  const auto home = home_folder(65534);
  if (::geteuid() != 0 || !home) {
    MESSAGE("SKIP: needs root, and a user who owns nothing");
    return;
  }
  const Root root;
  const auto size_is_read = [&](std::size_t size) {
    std::string text = R"({"Name":"/align","x":")";
    text += std::string(size - text.size() - 2, 'x') + "\"}";
    const std::string file = root.put(*home + "/.local/share/docker/containers/" + kId + "/config.v2.json", text);
    REQUIRE(::chown(file.c_str(), 65534, 65534) == 0);
    const std::string slice = "/user.slice/user-65534.slice/docker-" + kId + ".scope";
    return read(question_of(slice), root).name.has_value();
  };
  CHECK(size_is_read(1u << 20));
  CHECK_FALSE(size_is_read((1u << 20) + 1));
}

TEST_CASE("a file that is all values is not kept") {
  const ContainerFile file{"/x", {"Name"}, {}};
  const auto with_objects = [](std::size_t count) {
    std::string text = R"({"Name":"align","x":[{})";
    for (std::size_t n = 1; n < count; ++n) text += ",{}";
    return text + "]}";
  };
  CHECK(container_facts(with_objects(1000), file, kId).has_value());
  CHECK_FALSE(container_facts(with_objects(100'000), file, kId).has_value());
}
