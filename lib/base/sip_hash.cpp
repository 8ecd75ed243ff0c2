// SPDX-License-Identifier: Apache-2.0
#include "base/sip_hash.hpp"

#include <bit>
#include <cstddef>

namespace tracer::internal {
namespace {

class SipState {
 public:
  explicit SipState(const SipKey& key) noexcept
      : a_(key.low ^ 0x736f6d6570736575u),
        b_(key.high ^ 0x646f72616e646f6du),
        c_(key.low ^ 0x6c7967656e657261u),
        d_(key.high ^ 0x7465646279746573u) {}

  void take(std::uint64_t word) noexcept {
    d_ ^= word;
    for (int i = 0; i < 2; ++i) mix();
    a_ ^= word;
  }
  std::uint64_t finish() noexcept {
    c_ ^= 0xff;
    for (int i = 0; i < 4; ++i) mix();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void mix() noexcept {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32);
    c_ += b_;
    a_ += d_;
    b_ = std::rotl(b_, 17) ^ c_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

}  // namespace

std::uint64_t sip_hash(const SipKey& key, std::string_view text) noexcept {
  constexpr std::size_t kWord = 8;
  SipState state(key);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i % kWord));
    if (i % kWord != kWord - 1) continue;
    state.take(word);
    word = 0;
  }
  state.take(word | std::uint64_t{text.size() & 0xff} << 56);
  return state.finish();
}

}  // namespace tracer::internal
