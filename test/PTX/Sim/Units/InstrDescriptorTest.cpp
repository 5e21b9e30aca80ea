//===- InstrDescriptorTest.cpp - Instruction descriptors ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthData.h"

#include "fmha/PTX/Sim/Units/InstrDescriptor.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

const std::map<std::string, MmaKind> kinds = {{"f16", MmaKind::F16},
                                              {"tf32", MmaKind::TF32},
                                              {"f8f6f4", MmaKind::F8F6F4},
                                              {"i8", MmaKind::I8}};

uint32_t hexOf(const nlohmann::json &text) {
  return uint32_t(std::stoul(text.get<std::string>(), nullptr, 16));
}

TEST(InstrDescriptor, DecodesTheLibrarysWords) {
  nlohmann::json data = readJson("instr_desc.json");
  const std::map<std::string, std::pair<Major, Major>> majors = {
      {"KK", {Major::K, Major::K}},
      {"K_MN", {Major::K, Major::MN}},
      {"MN_K", {Major::MN, Major::K}},
      {"MN_MN", {Major::MN, Major::MN}}};
  unsigned words = 0;
  for (const nlohmann::json &record : data["words"]) {
    auto kind = kinds.find(record["kind"]);
    if (kind == kinds.end())
      continue;
    uint32_t m = record["M"];
    MmaForm form{kind->second, m == 256 ? 2u : 1u, false, m == 32};
    for (const auto &[key, major] : majors)
      for (unsigned i = 0; i < record[key].size(); ++i, ++words) {
        InstrDescriptor d =
            decodeInstrDescriptor(hexOf(record[key][i]), form).descriptor;
        EXPECT_EQ(nameOf(d.a), record["a"].get<std::string>());
        EXPECT_EQ(nameOf(d.b), record["b"].get<std::string>());
        EXPECT_EQ(nameOf(d.d), record["d"].get<std::string>());
        EXPECT_EQ(d.m, m);
        EXPECT_EQ(d.n, 8 * (i + 1));
        EXPECT_EQ(d.majorA, major.first);
        EXPECT_EQ(d.majorB, major.second);
        EXPECT_FALSE(d.negateA || d.negateB || d.saturate || d.sparse);
      }
  }
  EXPECT_GT(words, 6000u);
}

TEST(InstrDescriptor, DecodesFlags) {
  nlohmann::json data = readJson("instr_desc.json");
  unsigned found = 0;
  for (const nlohmann::json &record : data["words"]) {
    if (record["kind"] != "flags")
      continue;
    std::string what = record["what"];
    if (what.rfind("mx", 0) == 0)
      continue;
    MmaForm form{what.rfind("s8", 0) == 0 ? MmaKind::I8 : MmaKind::F16};
    InstrDescriptor d =
        decodeInstrDescriptor(hexOf(record["hex"]), form).descriptor;
    auto says = [&](const char *word) {
      return what.find(word) != std::string::npos;
    };
    EXPECT_EQ(d.negateA, says("neg A")) << what;
    EXPECT_EQ(d.negateB, says("neg B")) << what;
    EXPECT_EQ(d.saturate, says("saturate")) << what;
    EXPECT_EQ(d.sparse, says("sparse")) << what;
    if (says("max shift"))
      EXPECT_EQ(d.maxShift, std::stoul(what.substr(what.rfind(' ')))) << what;
    ++found;
  }
  EXPECT_GE(found, 10u);
}

/// Every N that the library takes is legal without a warning, every other N is
/// an error or a warning, for the dense forms with both operands K-major.
TEST(InstrDescriptor, ShapesAreTheLibrarys) {
  nlohmann::json data = readJson("mma_shapes.json");
  const std::map<std::string, MmaForm> ops = {
      {"SM100_MMA_TF32_SS", {MmaKind::TF32, 1, false, false}},
      {"SM100_MMA_F16BF16_SS", {MmaKind::F16, 1, false, false}},
      {"SM100_MMA_TF32_TS", {MmaKind::TF32, 1, true, false}},
      {"SM100_MMA_F16BF16_TS", {MmaKind::F16, 1, true, false}},
      {"SM100_MMA_F16BF16_2x1SM_SS", {MmaKind::F16, 2, false, false}},
      {"SM100_MMA_F16BF16_2x1SM_TS", {MmaKind::F16, 2, true, false}},
      {"SM100_MMA_S8_SS", {MmaKind::I8, 1, false, false}},
      {"SM100_MMA_S8_2x1SM_SS", {MmaKind::I8, 2, false, false}},
      {"SM100_MMA_F8F6F4_TS", {MmaKind::F8F6F4, 1, true, false}}};
  const std::map<MmaKind, uint32_t> types = {{MmaKind::F16, 0x490},
                                             {MmaKind::TF32, 0x910},
                                             {MmaKind::F8F6F4, 0x10},
                                             {MmaKind::I8, 0x4a0}};
  unsigned checked = 0;
  for (const nlohmann::json &wrapper : data["wrappers"]) {
    auto op = ops.find(wrapper["op"]);
    if (op == ops.end())
      continue;
    for (uint32_t m : {64u, 128u, 256u}) {
      std::string key = "M" + std::to_string(m);
      bool takesM = wrapper.contains(key);
      for (uint32_t n = 8; n <= 256; n += 8, ++checked) {
        bool taken = false;
        if (takesM) {
          const nlohmann::json &r = wrapper[key];
          uint32_t step = r["steps"].back();
          taken = n >= r["n_min"].get<uint32_t>() &&
                  (n % step == 0 || n == r["n_min"].get<uint32_t>());
        }
        uint32_t word =
            types.at(op->second.kind) | (n >> 3) << 17 | (m >> 4) << 24;
        DecodedInstr decoded = decodeInstrDescriptor(word, op->second);
        EXPECT_EQ(!decoded.error && !decoded.warning, taken)
            << op->first << " M " << m << " N " << n << ": "
            << decoded.error.value_or(decoded.warning.value_or("accepted"));
      }
    }
  }
  EXPECT_EQ(checked, ops.size() * 3 * 32);
}

TEST(InstrDescriptor, RefusesIllegalFields) {
  constexpr uint32_t good = 0x08200490;
  MmaForm form;
  EXPECT_FALSE(decodeInstrDescriptor(good, form).error);
  for (unsigned bit : {0u, 3u, 6u, 9u, 23u, 29u, 30u})
    EXPECT_TRUE(decodeInstrDescriptor(good ^ (1u << bit), form).error)
        << "bit " << bit;
  // bf16 operands have no f16 result.
  EXPECT_TRUE(decodeInstrDescriptor(good & ~0x30u, form).error);
  form.aInTmem = true;
  EXPECT_TRUE(decodeInstrDescriptor(good | 1u << 15, form).error);
}

} // namespace
