// SPDX-License-Identifier: Apache-2.0
#include "fake_library.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

// clang-format off
__asm__(
    ".section .rodata\n"
    "fake_cuda_begin:\n"
    ".incbin \"" FAKE_CUDA "\"\n"
    "fake_cuda_end:\n"
    ".byte 0\n"
    ".previous\n");
// clang-format on
extern "C" {
extern const char fake_cuda_begin[];
extern const char fake_cuda_end[];
}

namespace fake_library {
namespace {

constexpr const char* kFolder = "/usr/local/lib";

template <class T>
T part_of(const std::string& bytes, std::size_t at) {
  T part{};
  std::memcpy(&part, bytes.data() + at, sizeof part);
  return part;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

Installed::Installed() {
  std::filesystem::create_directories(kFolder);
  require(::unshare(CLONE_NEWNS) == 0, "a mount namespace");
  require(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 || errno == EINVAL, "private mounts");
  require(::mount("fake_library", kFolder, "tmpfs", 0, "mode=755") == 0, "a tmpfs");
  std::ofstream(kPath, std::ios::binary).write(fake_cuda_begin, fake_cuda_end - fake_cuda_begin);
  require(::chmod(kPath, 0644) == 0, "the library");
}

Installed::~Installed() { ::umount2(kFolder, MNT_DETACH); }

Mapped::Mapped() {
  std::ifstream in(Installed::kPath, std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(in), {});
  const int file = ::open(Installed::kPath, O_RDONLY | O_CLOEXEC);
  require(bytes_.size() > sizeof(Elf64_Ehdr) && file >= 0, "the library");
  // Room for all of its parts, which lie within as much as the file has, and some.
  const std::size_t room = bytes_.size() + (1u << 16);
  void* const area = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(area != MAP_FAILED, "room");
  base_ = reinterpret_cast<std::uintptr_t>(area);
  const auto head = part_of<Elf64_Ehdr>(bytes_, 0);
  for (std::size_t i = 0; i < head.e_phnum; ++i) {
    const auto part = part_of<Elf64_Phdr>(bytes_, head.e_phoff + i * sizeof(Elf64_Phdr));
    // Its functions need no data.
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::size_t before = part.p_vaddr % 4096;
    void* const place = reinterpret_cast<void*>(base_ + part.p_vaddr - before);
    require(::mmap(place, part.p_filesz + before, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file,
                   static_cast<off_t>(part.p_offset - before)) != MAP_FAILED,
            "to map it");
  }
  ::close(file);
}

std::uintptr_t Mapped::address_of(const std::string& name) const {
  const auto head = part_of<Elf64_Ehdr>(bytes_, 0);
  const auto section = [&](std::size_t i) {
    return part_of<Elf64_Shdr>(bytes_, head.e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr names = section(symbols.sh_link);
    for (std::size_t at = 0; at < symbols.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = part_of<Elf64_Sym>(bytes_, symbols.sh_offset + at);
      if (std::string_view(bytes_.c_str() + names.sh_offset + symbol.st_name) == name) return base_ + symbol.st_value;
    }
  }
  return 0;
}

}  // namespace fake_library
