//===- NpyTest.cpp - NumPy array files ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Npy.h"
#include "fmha/Runtime/Element.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/FileSystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace fmha::runtime;
using testing::HasSubstr;

namespace {

std::string file(int major, const std::string &header,
                 const std::string &data) {
  std::string bytes = "\x93NUMPY";
  bytes += char(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    bytes += char(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::string problemOf(const std::string &bytes) {
  auto array = parseNpy(bytes, "x.npy");
  return array ? "" : llvm::toString(array.takeError());
}

TEST(Npy, ReadsVersionsOneTwoAndThree) {
  for (int major : {1, 2, 3}) {
    auto array = parseNpy(
        file(major,
             "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1)}\n",
             std::string("\x01\0\0\0\x02\0\0\0", 8)),
        "x.npy");
    ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
    EXPECT_EQ(array->type, NpyType::I32);
    EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(array->elementCount(), 2);
  }
}

TEST(Npy, ReadsScalarsEmptyArraysAndTuplesOfOne) {
  auto scalar = parseNpy(
      file(1, "{'descr':'|b1','fortran_order':False,'shape':()}", "\x01"), "x");
  ASSERT_TRUE(bool(scalar)) << llvm::toString(scalar.takeError());
  EXPECT_EQ(scalar->elementCount(), 1);
  auto empty = parseNpy(file(1,
                             "{\"shape\": (0, 4,), \"descr\": \"<f8\", "
                             "\"fortran_order\": False, }   \n",
                             ""),
                        "x");
  ASSERT_TRUE(bool(empty)) << llvm::toString(empty.takeError());
  EXPECT_EQ(empty->shape, (std::vector<int64_t>{0, 4}));
  auto one = parseNpy(
      file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3L,)}",
           "abc"),
      "x");
  ASSERT_TRUE(bool(one)) << llvm::toString(one.takeError());
  EXPECT_EQ(one->data, "abc");
}

TEST(Npy, RefusesWhatItCannotReadAndSaysWhy) {
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  struct Case {
    std::string bytes, message;
  };
  const Case cases[] = {
      {"", "got an empty file"},
      {"PK\x03\x04 a zip", "begin with \\x93NUMPY, got other bytes"},
      {std::string("\x93NUMPY\x01", 7), "is truncated: expected the format"},
      {std::string("\x93NUMPY\x01\0\x10", 9), "expected the header length"},
      {file(7, good, ""), "version 1, 2 or 3, got 7.0"},
      {std::string("\x93NUMPY\x01\0\x40\0{", 11), "header of 64 bytes, got 1"},
      {file(1, good, "1234567"), "expected 8 bytes of elements for the shape "
                                 "(2,) of float32, got 7"},
      {file(1, good, "123456789"), "has trailing bytes: expected 8"},
      {file(1, "{'descr': '>f4', 'fortran_order': False, 'shape': ()}", "1234"),
       "got the type '>f4'; convert"},
      {file(1, "{'descr': '<c8', 'fortran_order': False, 'shape': ()}", "1234"),
       "got the type '<c8'"},
      {file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
            "1234"),
       "expected a quoted string, got '[('a', '<f4')], "},
      {file(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}",
            "12345678"),
       "expected C order, got Fortran order; save it with"},
      {file(1, "{'descr': '<f4', 'shape': (2,)}", "12345678"),
       "got no 'fortran_order'"},
      {file(1, "{'descr': '<f4', 'descr': '<f4'}", ""), "'descr' stands twice"},
      {file(1, "{'descr': '<f4', 'order': 1}", ""), "got 'order'"},
      {file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ""),
       "expected an extent of 0 or more, got '-1,)}'"},
      {file(1,
            "{'descr': '<f4', 'fortran_order': False, 'shape': "
            "(4294967296, 4294967296, 4294967296)}",
            ""),
       "larger than any memory"},
      {file(1, "{'descr': '<f4'", ""), "got the end of the header"},
      {file(1, good + "x", "12345678"), "expected the end of the header"},
  };
  for (const Case &test : cases)
    EXPECT_THAT(problemOf(test.bytes), HasSubstr(test.message));
}

TEST(Npy, TruncationAtEveryByteIsAnErrorAndNoCrash) {
  const std::string whole = formatNpy(fromFloats({2, 2}, {1, 2, 3, 4}));
  ASSERT_EQ(problemOf(whole), "");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(problemOf(whole.substr(0, length)), "") << length;
}

TEST(Npy, DamagedHeadersNeverCrash) {
  const std::string whole = formatNpy(fromFloats({2, 2}, {1, 2, 3, 4}));
  std::mt19937 random(7);
  RecordProperty("seed", 7);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = whole;
    for (int j = 0; j < 3; ++j)
      damaged[random() % damaged.size()] = char(random());
    auto array = parseNpy(damaged, "x");
    if (!array)
      llvm::consumeError(array.takeError());
  }
}

TEST(Npy, WritesWhatItReadsAtAnAlignedOffset) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{}, {0}, {3}, {2, 3, 1, 4}}) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = float(i) - 2.5f;
    std::string bytes = formatNpy(fromFloats(shape, values));
    EXPECT_EQ((bytes.size() - count * 4) % 64, 0u);
    auto array = parseNpy(bytes, "x");
    ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
    EXPECT_EQ(array->shape, shape);
    auto read = toFloats(*array, "x");
    ASSERT_TRUE(bool(read));
    EXPECT_EQ(*read, values);
  }
}

TEST(Npy, HeadersTooLongForVersionOneAreVersionTwo) {
  NpyArray array;
  array.type = NpyType::U8;
  array.shape.assign(30000, 1);
  array.data = "x";
  std::string bytes = formatNpy(array);
  EXPECT_EQ(bytes[6], 2);
  auto read = parseNpy(bytes, "x");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->shape.size(), 30000u);
}

TEST(Npy, OnlyFloatsBecomeFloats) {
  NpyArray array;
  array.type = NpyType::F64;
  array.shape = {1};
  array.data.assign(8, '\0');
  auto values = toFloats(array, "q.npy");
  ASSERT_FALSE(bool(values));
  EXPECT_THAT(llvm::toString(values.takeError()),
              HasSubstr("'q.npy': expected float32 or float16, got float64; "
                        "convert it with array.astype('float32')"));
}

TEST(Npy, FailedWritesLeaveNothingBehind) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("npy", folder));
  // A directory stands where the file should go.
  std::string target = (folder + "/taken").str();
  ASSERT_FALSE(llvm::sys::fs::create_directory(target));
  ASSERT_FALSE(llvm::sys::fs::create_directory(target + "/full"));
  llvm::Error error = writeNpy(target, fromFloats({1}, {1.0f}));
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr("cannot write"));
  std::error_code code;
  int entries = 0;
  for (llvm::sys::fs::directory_iterator it(folder, code), end;
       it != end && !code; it.increment(code))
    ++entries;
  EXPECT_EQ(entries, 1);
  llvm::sys::fs::remove_directories(folder);
}

TEST(Element, RoundsToNearestEvenOverAllHalves) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float half = fromHalf(uint16_t(bits)), brain = fromBFloat16(uint16_t(bits));
    if (!std::isnan(half))
      EXPECT_EQ(toHalf(half), bits);
    else
      EXPECT_TRUE(std::isnan(fromHalf(toHalf(half))));
    if (!std::isnan(brain))
      EXPECT_EQ(toBFloat16(brain), bits);
    else
      EXPECT_TRUE(std::isnan(fromBFloat16(toBFloat16(brain))));
  }
}

/// Every float between two neighbors goes to the nearer, halves to the even.
TEST(Element, MidpointsGoToTheEvenNeighbor) {
  for (uint32_t bits = 0; bits + 1 < 0x7c00; ++bits) {
    double low = fromHalf(uint16_t(bits)), high = fromHalf(uint16_t(bits + 1));
    float middle = float((low + high) / 2);
    EXPECT_EQ(toHalf(middle), bits % 2 ? bits + 1 : bits);
    EXPECT_EQ(toHalf(std::nextafterf(middle, 0)), bits);
    EXPECT_EQ(toHalf(std::nextafterf(middle, 1e9f)), bits + 1);
  }
  for (uint32_t bits = 0; bits + 1 < 0x7f80; ++bits) {
    double low = fromBFloat16(uint16_t(bits)),
           high = fromBFloat16(uint16_t(bits + 1));
    float middle = float((low + high) / 2);
    EXPECT_EQ(toBFloat16(middle), bits % 2 ? bits + 1 : bits);
  }
  EXPECT_EQ(toHalf(65519.996f), 0x7bff);
  EXPECT_EQ(toHalf(65520.0f), 0x7c00);
  EXPECT_EQ(toHalf(-1e30f), 0xfc00);
}

} // namespace
