// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/files.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/unique_fd.hpp"
#include "files.skel.h"
#include "lifecycle.skel.h"
#include "rules/file_rules.hpp"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/load/map_keys.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/ring/wire_reading.hpp"
#include "source/proc/pid_namespace.hpp"

namespace tracer::internal {
namespace {

/// Of all processes that live: as many as the kernel keeps.
constexpr std::size_t kMostSent = 32768;
constexpr std::size_t kMostNoise = 16384;

void take_sums(const tracer_file_sums& sums, FileUseRecord& record) {
  record.opens = sums.opens;
  if (sums.moves_unseen == 0) {
    record.renames = sums.renames;
    record.deletes = sums.deletes;
  }
  const auto unless = [](std::uint8_t unknown, std::uint64_t bytes) {
    return unknown != 0 ? std::optional<std::uint64_t>() : bytes;
  };
  record.read_bytes = unless(sums.read_unknown, sums.read_bytes);
  record.written_bytes = unless(sums.write_unknown, sums.written_bytes);
  record.size_bytes = sums.size_bytes;
  record.closed_ns = sums.closed_ns;
  record.created = sums.created != 0;
  record.reads = sums.reads != 0;
  record.writes = sums.writes != 0;
  record.account = sums.account;
  record.no_room = sums.no_room != 0;
  if (sums.open_unknown == 0 && sums.opened_ns != 0) record.opened_ns = sums.opened_ns;
  record.begins = sums.begins;
  record.may_begin = sums.may_begin != 0;
  record.wrote = sums.wrote != 0;
  record.reads_earlier = sums.reads_earlier != 0;
  if (sums.modified_ns != 0) {
    const std::uint64_t offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
    record.modified_ns = sums.modified_ns - std::min<std::uint64_t>(sums.modified_ns, offset_ns);
  }
}

/// "fuse.sshfs" as in /proc/PID/mountinfo.
std::optional<std::string> filesystem_of(const tracer_wire_file_use& wire) {
  const std::string kind = text_in(wire.filesystem);
  const std::string subtype = text_in(wire.subtype);
  if (kind.empty()) return std::nullopt;
  return subtype.empty() ? kind : kind + '.' + subtype;
}

std::optional<FileUseRecord::Change> change_of(std::uint8_t change) {
  switch (change) {
    case TRACER_FILE_CLOSED: return FileUseRecord::Change::kClosed;
    case TRACER_FILE_RENAMED: return FileUseRecord::Change::kRenamed;
    case TRACER_FILE_DELETED: return FileUseRecord::Change::kDeleted;
    default: return std::nullopt;
  }
}

bool take_file_use(std::span<const std::byte> bytes, FileUseRecord& record) {
  tracer_wire_file_use wire;
  if (!take(bytes, wire)) return false;
  std::string_view rest = text_after(bytes, sizeof wire);
  const auto path = cut(rest, wire.path_size);
  const auto new_path = cut(rest, wire.new_path_size);
  const auto change = change_of(wire.change);
  if (!path || !new_path || !change || !take_identity(wire.header, wire.identity, record.identity)) return false;
  record.change = *change;
  record.file = {wire.key.inode, wire.key.device, wire.key.generation, wire.key.user};
  record.kernel_pid = wire.key.pid;
  record.place = wire.place;
  record.more_opens = wire.more_opens;
  record.more_renames = wire.more_renames;
  record.more_deletes = wire.more_deletes;
  record.fresh = wire.fresh != 0;
  record.path_cut = wire.path_cut != 0;
  if (!path->empty() && record.file.inode != 0) {
    record.path = path_of(*path, record.path_cut);
    record.filesystem = filesystem_of(wire);
    if (!new_path->empty()) record.new_path = path_of(*new_path, wire.new_path_cut != 0);
  }
  take_sums(wire.sums, record);
  return true;
}

/// Of renames and deletes: what says that one may be done, and whether it was.
constexpr const char* kMoveFunctions[] = {"security_path_rename", "security_path_unlink", "vfs_rename", "vfs_unlink"};

bool has_move_functions(const KernelTypes& types) {
  return types.rename_has_structure() && std::all_of(std::begin(kMoveFunctions), std::end(kMoveFunctions),
                                                     [&types](const char* name) { return types.has_function(name); });
}

tracer_file_key key_of(std::uint64_t start_ns, std::uint32_t kernel_pid, const FileUseRecord::File& file) {
  return {start_ns, file.inode, file.device, file.generation, kernel_pid, file.user};
}

constexpr WireRecord kFilesRecords[] = {{TRACER_WIRE_FILE_USE, decode_as<FileUseRecord, take_file_use>}};

}  // namespace

FilesFamily::FilesFamily() noexcept : sent_(kMostSent) {}
FilesFamily::~FilesFamily() = default;

const char* FilesFamily::mechanism() const noexcept {
  if (way_ == Way::kFree) return "raw_tp: kmem_cache_free";
  if (!sees_moves_) return sees_opens_ ? "fentry: locks_remove_file, security_file_open" : "fentry: locks_remove_file";
  return sees_opens_ ? "fentry: locks_remove_file, security_file_open; fexit: vfs_rename, vfs_unlink"
                     : "fentry: locks_remove_file; fexit: vfs_rename, vfs_unlink";
}

void FilesFamily::check(const KernelTypes& types, std::vector<CheckItem>& items) const {
  items.push_back(feature_item("last closes of files",
                               types.frees_files_at_close() || types.has_function("locks_remove_file"),
                               "family files: which files each process used",
                               "5.5 on x86 and 6.4 on arm64 where functions can be traced, else 6.7"));
}

std::span<const WireRecord> FilesFamily::records() const noexcept { return kFilesRecords; }

void FilesFamily::load(const FamilySetup& setup, Way way, bool moves) {
  skeleton_.load(id(), setup.keep, &::files_bpf__open_opts, &::files_bpf__destroy,
                 [&](files_bpf& bpf, const LibbpfLog& log) {
                   bpf.rodata->slot_mask = setup.places - 1;
                   bpf.rodata->own_pid_namespace = own_pid_namespace();
                   for (const std::uint32_t magic : FileRules::builtin().noise_filesystems()) {
                     const std::uint32_t bit = TRACER_NOISE_BIT(magic);
                     bpf.rodata->noise_bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
                   }
                   set_rings(*bpf.rodata, setup);
                   ::bpf_program__set_autoload(bpf.progs.file_released, way == Way::kFunction);
                   ::bpf_program__set_autoload(bpf.progs.file_freed, way == Way::kFree);
                   sees_opens_ = way == Way::kFunction && setup.types.has_function("security_file_open");
                   bpf.rodata->sees_opens = sees_opens_ ? 1 : 0;
                   ::bpf_program__set_autoload(bpf.progs.file_opened, sees_opens_);
                   if (!sees_opens_) ::bpf_map__set_max_entries(bpf.maps.opened_files, 1);
                   load_moves(bpf, setup.types, moves);
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsToSend, log);
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsOfProcesses, log);
                 });
  way_ = way;
  if (skeleton_->bss->own_seed == 0) skeleton_->bss->own_seed = random_number();
  for (const std::uint32_t magic : FileRules::builtin().noise_filesystems()) {
    const std::uint8_t noise = 1;
    ::bpf_map_update_elem(::bpf_map__fd(skeleton_->maps.noise_filesystems), &magic, &noise, BPF_ANY);
  }
}

void FilesFamily::load_moves(files_bpf& bpf, const KernelTypes& types, bool moves) {
  sees_moves_ = moves;
  bpf.rodata->sees_moves = moves ? 1 : 0;
  ::bpf_program__set_autoload(bpf.progs.rename_begins, moves);
  ::bpf_program__set_autoload(bpf.progs.rename_ends, moves);
  ::bpf_program__set_autoload(bpf.progs.delete_begins, moves);
  ::bpf_program__set_autoload(bpf.progs.delete_ends, moves && types.unlink_has_mapping());
  ::bpf_program__set_autoload(bpf.progs.delete_ends_unmapped, moves && !types.unlink_has_mapping());
  if (!moves) ::bpf_map__set_max_entries(bpf.maps.moves, 1);
}

/// Whether functions can be traced shows only when it is tried: kernels refuse it at different steps. It stays
/// attached, as before 5.13 a program can't be attached twice; nobody is tracked yet.
void FilesFamily::load(FamilySetup& setup) {
  const bool moves = has_move_functions(setup.types);
  if (!moves)
    no_moves_ = {ErrorCode::kKernelTooOld,
                 0,
                 "renames and deletes are not seen: this kernel has no functions that name what is renamed and deleted",
                 "use a kernel with CONFIG_SECURITY_PATH, and Linux 5.12 or a late stable release of 5.10",
                 {}};
  if (setup.keep && setup.keep->has_link(id(), "file_freed")) {
    note_refusal("");
    return load(setup, Way::kFree, false);
  }
  try {
    load(setup, Way::kFunction, moves);
    attach_program();
  } catch (const Error& error) {
    skeleton_.unload();
    note_refusal(error.problems().empty() ? "" : error.problems().front().what);
    if (setup.types.frees_files_at_close()) return load(setup, Way::kFree, false);
    if (!moves) throw;
    load(setup, Way::kFunction, false);
    attach_program();
  }
}

void FilesFamily::note_refusal(const std::string& what) {
  no_moves_ = {ErrorCode::kProgramRefused, 0,
               "renames and deletes are not seen: this kernel refuses to trace the functions that do them",
               "use a kernel that allows it (fentry and fexit; on arm64 from Linux 6.4)", what};
}

std::optional<Problem> FilesFamily::missing_part() const {
  return sees_moves_ ? std::nullopt : std::optional(no_moves_);
}

void FilesFamily::unload(FamilySetup&) noexcept { skeleton_.unload(); }

void FilesFamily::attach_program() {
  skeleton_.attach(id());
  see_own_close();
}

void FilesFamily::attach() {
  if (way_ == Way::kFree) attach_program();
}

/// That a program was attached does not show that it runs.
void FilesFamily::see_own_close() {
  volatile auto& state = *skeleton_->bss;
  const std::uint64_t before = state.taught;
  state.teacher = static_cast<std::uint32_t>(::getpid());
  state.learning = 1;
  UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)).reset();
  state.learning = 0;
  if (state.taught != before) return;
  detach();
  throw Error({ErrorCode::kProgramRefused,
               0,
               "the programs of the family files were attached, but did not see a file that was closed",
               "use the family files on another kernel",
               {}});
}

FilesFamily::Rows FilesFamily::rows() const {
  return {::bpf_map__fd(skeleton_->maps.file_uses), skeleton_->bss->rows_of, skeleton_->bss->rows_of_all};
}

void FilesFamily::go_on(std::uint64_t before_ns) {
  const auto began_before = [before_ns](const tracer_file_key& key) { return key.start_ns <= before_ns; };
  for (const tracer_file_key& key : keys_of<tracer_file_key>(::bpf_map__fd(skeleton_->maps.file_uses), began_before))
    rows().remove(key);
}

void FilesFamily::detach() noexcept { skeleton_.detach(); }

const bpf_object* FilesFamily::object() const noexcept { return &skeleton_.object(); }

/// Another object that is freed in an interrupt, while a file is, is none of this program's business.
ProgramSums FilesFamily::usage() const {
  ProgramSums sums = sums_of_programs(*object());
  if (way_ == Way::kFree) sums.recursion_misses = 0;
  return sums;
}

std::map<std::string, std::uint64_t> FilesFamily::losses() const {
  auto losses = KernelFamily::losses();
  if (const std::uint64_t forgotten = forgotten_.value(); forgotten != 0) losses["ring_full_file_use"] += forgotten;
  return losses;
}

void FilesFamily::make_noise(const Noise& noise) {
  const auto& [file, place] = noise;
  const tracer_noise_key key{file.inode, place, file.device, file.generation};
  const std::uint8_t yes = 1;
  ::bpf_map_update_elem(::bpf_map__fd(skeleton_->maps.noise_files), &key, &yes, BPF_ANY);
  if (noise_.size() >= kMostNoise) noise_.clear();
  noise_.insert(noise);
}

bool FilesFamily::is_noise(const FileUseRecord& use) {
  FileUseRecord::File file = use.file;
  file.user = 0;
  if (!use.path) {
    if (noise_.contains({file, use.place})) return true;
    // It was noise by its first name, and renamed before the kernel heard of that.
    const auto known = noise_.lower_bound({file, 0});
    return known != noise_.end() && known->first == file &&
           !sent_.contains({use.identity.pid, use.identity.start_ns}, use.file);
  }
  const FileRules& rules = FileRules::builtin();
  if (!rules.is_noise(*use.path)) return use.new_path && rules.is_noise(*use.new_path);
  // What is renamed or deleted is not used by this name any more.
  if (use.change == FileUseRecord::Change::kClosed) make_noise({file, use.place});
  return true;
}

void FilesFamily::remember(const FileUseRecord& record) {
  const RecordIdentity& identity = record.identity;
  const SentRow row{record.account, record.uses() > 1};
  if (sent_.remember({identity.pid, identity.start_ns}, record.kernel_pid, record.file, row)) return;
  forgotten_.add(1);
  forget(record);
}

void FilesFamily::forget(const FileUseRecord& record) {
  rows().remove(key_of(record.identity.start_ns, record.kernel_pid, record.file), record.account);
}

bool FilesFamily::passes(const Record& record, Feed& feed) {
  if (const auto* use = std::get_if<FileUseRecord>(&record)) {
    if (is_noise(*use)) {
      forget(*use);
      return false;
    }
    remember(*use);
  } else if (const auto* exit = std::get_if<ExitRecord>(&record)) {
    yield_rest(exit->identity, sent_.take({exit->identity.pid, exit->identity.start_ns}), feed);
  }
  return true;
}

void FilesFamily::read(Decoder&, Feed&, const SnapshotHelp& help) {
  if (!sent_.nearly_full()) return;
  for (const auto& [process, sent] : sent_.take_unless(help.tracks()))
    for (const auto& [file, row] : sent.keys) rows().remove(key_of(process.second, sent.kernel_pid, file), row.account);
}

void FilesFamily::yield_rest(const RecordIdentity& identity, const Sent::Sent& sent, Feed& feed) {
  for (const auto& [file, row] : sent.keys) {
    const tracer_file_key key = key_of(identity.start_ns, sent.kernel_pid, file);
    tracer_file_sums sums;
    const bool found = !row.may_have_more || rows().find(key, sums);
    rows().remove(key, row.account);
    if (!found) forgotten_.add(1);
    if (!found || !row.may_have_more) continue;
    const bool all_sent =
        sums.opens == sums.sent_opens && sums.renames == sums.sent_renames && sums.deletes == sums.sent_deletes;
    if (all_sent) continue;
    Record record(std::in_place_type<FileUseRecord>);
    auto& rest = std::get<FileUseRecord>(record);
    rest.identity = identity;
    rest.file = file;
    rest.kernel_pid = sent.kernel_pid;
    take_sums(sums, rest);
    rest.more_opens = sums.opens - std::min(sums.opens, sums.sent_opens);
    rest.more_renames = sums.renames - std::min(sums.renames, sums.sent_renames);
    rest.more_deletes = sums.deletes - std::min(sums.deletes, sums.sent_deletes);
    feed.record(record);
  }
}

void FilesFamily::flush(Feed& feed) {
  for (const auto& [process, sent] : sent_.all()) {
    RecordIdentity identity;
    identity.pid = process.first;
    identity.start_ns = process.second;
    yield_rest(identity, sent, feed);
  }
  sent_.clear();
}

std::unique_ptr<KernelFamily> files_family() { return std::make_unique<FilesFamily>(); }

}  // namespace tracer::internal
