// SPDX-License-Identifier: Apache-2.0
#include "stream/number_array.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace tracer::internal;

namespace {

using Numbers = std::vector<std::uint64_t>;

Bytes coded(const Numbers& numbers) {
  Bytes bytes;
  put_numbers(bytes, numbers);
  return bytes;
}

bool comes_back(const Numbers& numbers) {
  const Bytes bytes = coded(numbers);
  ByteReader in(bytes);
  Numbers back(numbers.size());
  return take_numbers(in, back) && in.empty() && back == numbers;
}

}  // namespace

TEST_CASE("numbers of any width come back, whatever their order") {
  std::mt19937_64 random(1);
  for (unsigned bits = 0; bits <= 64; ++bits) {
    for (const std::size_t count : {1u, 2u, 7u, 300u, 2000u}) {
      Numbers numbers(count);
      for (std::uint64_t& number : numbers) number = bits == 0 ? 0 : random() >> (64 - bits);
      CAPTURE(bits);
      CAPTURE(count);
      CHECK(comes_back(numbers));
      std::sort(numbers.begin(), numbers.end());
      CHECK(comes_back(numbers));
      for (std::uint64_t& number : numbers) number = 0 - number;
      CHECK(comes_back(numbers));
    }
  }
  CHECK(comes_back({}));
  CHECK(comes_back({0, UINT64_MAX, 0, UINT64_MAX, 1}));
}

TEST_CASE("what repeats is small") {
  CHECK(coded(Numbers(10'000, 5'000'000)).size() <= 6);
  Numbers rising(1000);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = 1'000'000'000'000 + 100 * i;
  CHECK(coded(rising).size() < 1100 * 1);
  Numbers few(1000);
  for (std::size_t i = 0; i < few.size(); ++i) few[i] = 0x0123'4567'89ab'cdef * (i * i % 7);
  CHECK(coded(few).size() < 1100);
  CHECK(comes_back(few));
}

TEST_CASE("256 different numbers fit in a table, one more does not") {
  for (const std::size_t different : {255u, 256u, 257u}) {
    Numbers numbers(4096);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = (i * 7919 % different) * 0x9e3779b97f4a7c15u;
    CAPTURE(different);
    CHECK(comes_back(numbers));
    CHECK((coded(numbers).size() < 8 * 4096) == (different <= 256));
  }
}

TEST_CASE("arrays that are cut are none") {
  for (const Numbers& numbers :
       {Numbers{7, 7, 7}, Numbers{1, 2000, 3}, Numbers{1u << 20, (1u << 20) + 1, (1u << 20) + 2},
        Numbers{1ull << 40, 5, 1ull << 40, 5, 1ull << 40, 5}}) {
    const Bytes bytes = coded(numbers);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ByteReader in{std::span(bytes).first(size)};
      Numbers back(numbers.size());
      CHECK_FALSE(take_numbers(in, back));
    }
  }
}

TEST_CASE("codings that do not exist are refused") {
  const auto refused = [](std::initializer_list<unsigned> head) {
    Bytes bytes;
    for (const unsigned byte : head) bytes.push_back(static_cast<std::byte>(byte));
    bytes.resize(4096);
    ByteReader in(bytes);
    Numbers back(100);
    return !take_numbers(in, back);
  };
  CHECK_FALSE(refused({0x01, 0}));
  CHECK(refused({0x09, 0}));                 // nine planes
  CHECK(refused({0x10, 0}));                 // deltas without planes
  CHECK(refused({0x20, 0}));                 // an empty table
  CHECK(refused({0x20, 0x81, 0x02}));        // a table of 257
  CHECK(refused({0x20, 2, 0x20, 2, 0, 0}));  // a table of tables
  CHECK(refused({0x20, 2, 0, 5, 0, 1, 2}));  // a place behind the table's end
  CHECK_FALSE(refused({0x20, 2, 0, 5, 0, 1, 1}));
  CHECK(refused({0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}));  // more than 64 bits
}

TEST_CASE("a varint has 64 bits") {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, UINT64_MAX}) {
    Bytes bytes;
    put_varint(bytes, value);
    ByteReader in(bytes);
    CHECK(in.varint() == value);
    CHECK(in.good());
    ByteReader cut{std::span(bytes).first(bytes.size() - 1)};
    CHECK(cut.varint() == 0);
    CHECK_FALSE(cut.good());
  }
}
