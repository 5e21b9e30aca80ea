//===- SiliconTest.cpp - Scalar forms against recorded silicon ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every entry of the four families is run through find() and compared with what
// an H200 wrote, bit for bit; approximate functions within the bounds that the
// recording itself has (twice silicon's worst error against float64).
//
//===----------------------------------------------------------------------===//

#include "../Core/SiliconCoverage.h"
#include "Snippet.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>

using namespace ptxsim::scalar;
using namespace ptxsim::scalar::test;
using nlohmann::json;

namespace {

const std::string directory = FMHA_TEST_DATA "/silicon/scalar";

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The arrays of one family, out of their zlib stream.
std::string arraysOf(const json &index, const std::string &family) {
  std::string name = family + ".bin.z";
  std::string packed = contents(directory + "/" + name);
  uLongf size = index["meta"]["bytes"][name];
  std::string bytes(size, 0);
  int status = uncompress(reinterpret_cast<Bytef *>(bytes.data()), &size,
                          reinterpret_cast<const Bytef *>(packed.data()),
                          static_cast<uLong>(packed.size()));
  if (status != Z_OK || size != bytes.size())
    throw std::runtime_error(name + " does not unpack to its size");
  return bytes;
}

unsigned byteWidth(const std::string &dtype) {
  static const std::map<std::string, unsigned> widths = {
      {"u8", 1},  {"s8", 1},  {"u16", 2}, {"s16", 2}, {"f16", 2}, {"bf16", 2},
      {"b16", 2}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b64", 8}};
  auto it = widths.find(dtype);
  return it == widths.end() ? 4 : it->second;
}

struct Array {
  const char *bytes;
  unsigned width;
  size_t count;
  uint64_t at(size_t i) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes + i * width, width);
    return value;
  }
};

Array arrayOf(const json &description, const std::string &file) {
  size_t count = 1;
  for (size_t extent : description["shape"])
    count *= extent;
  unsigned width = byteWidth(description["dtype"]);
  size_t offset = description["offset"];
  if (offset + count * width > file.size())
    throw std::runtime_error("array beyond the end of its file");
  return {file.data() + offset, width, count};
}

/// Distance in units of the last place of two floats of `width` bytes.
uint64_t ulps(uint64_t a, uint64_t b, unsigned width) {
  uint64_t sign = uint64_t(1) << (width * 8 - 1);
  auto key = [&](uint64_t x) {
    return static_cast<int64_t>(x & sign ? -static_cast<int64_t>(x & ~sign)
                                         : static_cast<int64_t>(x));
  };
  int64_t d = key(a) - key(b);
  return d < 0 ? -d : d;
}

bool isFinite32(uint32_t x) { return (x & 0x7F800000) != 0x7F800000; }
bool isNan32(uint32_t x) { return (x & 0x7FFFFFFF) > 0x7F800000; }

double value32(uint64_t x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x));
}

using Near =
    std::function<bool(uint64_t got, uint64_t expected, uint64_t input)>;

Near withinUlps(uint64_t limit) {
  return [=](uint64_t got, uint64_t expected, uint64_t) {
    // Infinity is one unit above the largest finite value.
    return !isNan32(got) && !isNan32(expected) && got >> 31 == expected >> 31 &&
           ulps(got, expected, 4) <= limit;
  };
}

bool nearLg2(uint64_t got, uint64_t expected, uint64_t input) {
  return withinUlps(3)(got, expected, input) ||
         std::fabs(value32(got) - value32(expected)) <= 0x1p-21;
}

// The argument reduction of silicon loses absolute precision with abs(x).
bool nearTrigonometric(uint64_t got, uint64_t expected, uint64_t input) {
  double x = std::fabs(value32(input));
  double difference = std::fabs(value32(got) - value32(expected));
  if (x <= 3.1416)
    return difference <= 0x1p-21;
  if (x <= 16)
    return difference <= 0x1p-18;
  if (x <= 150)
    return difference <= 0x1p-15;
  return std::isinf(x) ? got == expected : isFinite32(got);
}

bool nearTanh(uint64_t got, uint64_t expected, uint64_t) {
  return std::fabs(value32(got) - value32(expected)) <=
         0x1p-16 * std::fabs(value32(expected));
}

/// The high words of f64 approximations may differ by a few units.
bool nearHighWord(uint64_t got, uint64_t expected, uint64_t) {
  return (got & 0xFFFFFFFF) == (expected & 0xFFFFFFFF) &&
         ulps(got >> 32, expected >> 32, 4) <= 2;
}
bool nearF64(uint64_t got, uint64_t expected, uint64_t) {
  return ulps(got, expected, 8) <= 4;
}
bool nearHalf(uint64_t got, uint64_t expected, uint64_t) {
  auto one = [](uint64_t a, uint64_t b) { return ulps(a, b, 2) <= 1; };
  return one(got & 0xFFFF, expected & 0xFFFF) && one(got >> 16, expected >> 16);
}

/// What may differ from the recording for `opcode`; null: nothing.
Near toleranceOf(const std::string &opcode) {
  static const std::pair<const char *, Near> table[] = {
      {"ex2.approx.f32", withinUlps(3)}, {"ex2.approx.ftz.f32", withinUlps(3)},
      {"lg2.approx", nearLg2},           {"rcp.approx.ftz.f64", nearHighWord},
      {"rcp.approx", withinUlps(1)},     {"rsqrt.approx.ftz.f64", nearHighWord},
      {"rsqrt.approx.f64", nearF64},     {"rsqrt.approx", withinUlps(2)},
      {"sqrt.approx", withinUlps(1)},    {"sin.approx", nearTrigonometric},
      {"cos.approx", nearTrigonometric}, {"tanh.approx.f32", nearTanh},
      {"div.approx", withinUlps(2)},     {"div.full", withinUlps(2)},
      {"ex2.approx", nearHalf},          {"tanh.approx", nearHalf},
  };
  for (const auto &[prefix, near] : table)
    if (opcode.rfind(prefix, 0) == 0)
      return near;
  return nullptr;
}

/// Instructions that look across lanes are not this library's.
bool crossesLanes(const std::string &ptx) {
  for (const char *word :
       {"vote.", "activemask", "elect.", "match.", "redux.", "shfl."})
    if (ptx.find(word) != std::string::npos)
      return true;
  return false;
}

class Entry {
public:
  Entry(const json &entry, const std::string &file) : name(entry["name"]) {
    program = parseSnippet(entry["ptx"].get<std::string>());
    for (const json &array : entry["inputs"])
      inputs.emplace("%" + array["name"].get<std::string>(),
                     arrayOf(array, file));
    for (const json &array : entry["outputs"]) {
      std::string reg = "%" + array["name"].get<std::string>();
      outputs.emplace(reg, arrayOf(array, file));
      widths[reg] = byteWidth(array["dtype"]) * 8;
    }
  }

  Near tolerance() const { return toleranceOf(program.front().opcode); }

  /// Samples compared; differences are reported as failures.
  size_t run(ptxsim::ApproxMode approx, const Near &near) {
    size_t count = outputs.begin()->second.count;
    for (size_t base = 0; base < count && bad < 3; base += 32)
      if (!runWarp(base, std::min<size_t>(32, count - base), approx, near))
        return 0;
    return count;
  }

private:
  bool runWarp(size_t base, size_t lanes, ptxsim::ApproxMode approx,
               const Near &near) {
    Registers registers;
    for (const auto &[reg, array] : inputs)
      for (size_t lane = 0; lane < lanes; ++lane)
        registers[reg][lane] = array.at(base + lane);
    Row carry{};
    Context context;
    context.approx = approx;
    context.carry = &carry;
    LaneMask active = lanes == 32 ? ~LaneMask(0) : (1u << lanes) - 1;
    for (const Instruction &instruction : program)
      if (!execute(instruction, context, registers, widths, active)) {
        ADD_FAILURE() << "no form " << instruction.opcode;
        return false;
      }
    for (const auto &[reg, array] : outputs)
      for (size_t lane = 0; lane < lanes; ++lane)
        compare(reg, registers[reg][lane], array.at(base + lane), base + lane,
                near);
    return true;
  }

  void compare(const std::string &reg, uint64_t got, uint64_t expected,
               size_t sample, const Near &near) {
    uint64_t input = inputs.empty() ? 0 : inputs.begin()->second.at(sample);
    if (got == expected || (near && near(got, expected, input)) || ++bad > 3)
      return;
    std::string operands;
    for (const auto &[name, array] : inputs)
      operands += " " + name + "=" + hex(array.at(sample));
    ADD_FAILURE() << name << " " << reg << ":" << operands << ", got "
                  << hex(got) << ", silicon " << hex(expected);
  }

  static std::string hex(uint64_t value) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "0x%llx",
                  static_cast<unsigned long long>(value));
    return buffer;
  }

  std::string name;
  std::vector<Instruction> program;
  std::map<std::string, Array> inputs, outputs;
  std::map<std::string, unsigned> widths;
  unsigned bad = 0;
};

class Silicon : public testing::TestWithParam<const char *> {};

TEST_P(Silicon, MatchesEveryRecordedSample) {
  json index = json::parse(contents(directory + "/index.json"));
  std::string file = arraysOf(index, GetParam());
  size_t entries = 0, samples = 0;
  for (const json &entry : index["entries"]) {
    if (entry["family"] != GetParam() || entry.contains("error") ||
        crossesLanes(entry["ptx"].get<std::string>()))
      continue;
    ++entries;
    Entry replay(entry, file);
    samples += replay.run(ptxsim::ApproxMode::Correct, replay.tolerance());
  }
  EXPECT_EQ(entries, ptxsim::test::entriesOf(
                         "Silicon.MatchesEveryRecordedSample", GetParam()));
  EXPECT_GE(samples, entries * 1024);
}

/// What ptxas refused for the recorded target has no form, but for what newer
/// targets have.
TEST(SiliconUnit, RefusedFormsAreNotFound) {
  json index = json::parse(contents(directory + "/index.json"));
  unsigned refused = 0, newer = 0;
  for (const json &entry : index["entries"]) {
    if (!entry.contains("error"))
      continue;
    ++refused;
    std::string error = entry["error"];
    bool exists = error.find("requires .target sm_100") != std::string::npos;
    newer += exists;
    std::string opcode =
        parseSnippet(entry["ptx"].get<std::string>()).front().opcode;
    EXPECT_EQ(find(opcode) != nullptr, exists) << opcode << ": " << error;
  }
  EXPECT_EQ(refused,
            ptxsim::test::entriesOf("SiliconUnit.RefusedFormsAreNotFound"));
  EXPECT_EQ(newer, 3u);
}

/// ApproxMode::Sm90 is exact where a model of the unit exists.
TEST(SiliconUnit, Sm90IsBitExact) {
  json index = json::parse(contents(directory + "/index.json"));
  std::map<std::string, std::string> files;
  size_t entries = 0;
  for (const json &entry : index["entries"]) {
    std::string ptx = entry["ptx"];
    bool modeled = false;
    for (const char *prefix :
         {"ex2.approx", "rcp.approx", "rsqrt.approx", "lg2.approx",
          "sqrt.approx", "sin.approx", "cos.approx", "div.approx", "div.full"})
      modeled |= ptx.rfind(prefix, 0) == 0;
    if (!modeled || entry.contains("error") ||
        ptx.find("f64") != std::string::npos)
      continue;
    std::string family = entry["family"];
    if (!files.count(family))
      files[family] = arraysOf(index, family);
    ++entries;
    Entry(entry, files[family]).run(ptxsim::ApproxMode::Sm90, nullptr);
  }
  EXPECT_EQ(entries, 22u);
}

INSTANTIATE_TEST_SUITE_P(Families, Silicon,
                         testing::Values("scalar_f32", "half", "cvt",
                                         "integer"));

} // namespace
