// SPDX-License-Identifier: Apache-2.0
#include "context/keys.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/key_hash.hpp"
#include "base/sip_hash.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

/// An id of a process is made up where nobody has said another: two hosts may make up the same.
bool is_made_up(const std::optional<Provenance>& provenance) {
  return provenance.value_or(Provenance::kInferred) == Provenance::kInferred;
}

/// Any user can give any name and id, and find some with a given FNV-1a hash: what is one user's is never another's.
Key key_of(const KeyHash& hash, const std::optional<uid_t>& owner) {
  if (!owner) return hash.key();
  const std::uint64_t number = sip_hash({}, to_string(hash.key()) + ' ' + std::to_string(*owner));
  return Key{number == 0 ? 1 : number};
}

}  // namespace

void set_run_key(Context& context, const KeyOrigin& origin, std::optional<uid_t> owner) {
  context.run_key.reset();
  if (!is_run(context)) return;
  KeyHash hash;
  hash.add("run");
  if (!context.run_id) {
    hash.add(origin.session_id).add_known(context.pipeline).add_known(context.run);
  } else if (is_made_up(context.provenance.run_id)) {
    hash.add(origin.boot_id).add(*context.run_id);
  } else {
    hash.add_known(context.engine).add(*context.run_id);
  }
  context.run_key = key_of(hash, owner);
}

void set_task_key(Context& context, const KeyOrigin& origin, std::optional<uid_t> owner) {
  context.task_key.reset();
  if (!is_task(context)) return;
  KeyHash hash;
  hash.add("task");
  if (context.run_key) hash.add(to_string(*context.run_key));
  if (!context.task_id) {
    if (!context.run_key) hash.add(origin.session_id);
    hash.add_known(context.step).add_known(context.task).add_known(context.sample);
  } else {
    if (is_made_up(context.provenance.task_id)) {
      hash.add(origin.boot_id);
    } else if (!context.run_key) {
      hash.add(context.provenance.task_id == Provenance::kLabel ? origin.session_id : context.engine.value_or(""));
    }
    hash.add(*context.task_id);
  }
  hash.add(std::to_string(context.attempt.value_or(1)));
  context.task_key = key_of(hash, owner);
}

}  // namespace tracer::internal
