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

const std::map<std::string, MmaKind> kinds = {
    {"f16", MmaKind::F16},           {"tf32", MmaKind::TF32},
    {"f8f6f4", MmaKind::F8F6F4},     {"i8", MmaKind::I8},
    {"mxf8f6f4", MmaKind::MXF8F6F4}, {"mxf4", MmaKind::MXF4},
    {"mxf4nvf4", MmaKind::MXF4NVF4}};

/// Scale factors per row, by the type of scale for kind::mxf4nvf4.
uint32_t vectorOf(MmaKind kind, const std::string &scale) {
  if (!isBlockScaled(kind))
    return 0;
  return kind == MmaKind::MXF8F6F4 ? 1 : scale == "ue4m3" ? 4 : 2;
}

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
    form.scaleVector = vectorOf(kind->second, record.value("sf", ""));
    for (const auto &[key, major] : majors)
      if (record.contains(key))
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

/// Words with each pair of scale factor IDs, A's first.
TEST(InstrDescriptor, DecodesScaleFactors) {
  nlohmann::json data = readJson("instr_desc.json");
  unsigned words = 0;
  for (const nlohmann::json &record : data["words"]) {
    if (!record.contains("sfid"))
      continue;
    std::string scale = record["sf"];
    MmaForm form{kinds.at(record["kind"]), record["M"] == 256 ? 2u : 1u};
    form.scaleVector = vectorOf(form.kind, scale);
    for (const nlohmann::json &hex : record["sfid"]) {
      uint32_t word = hexOf(hex);
      DecodedInstr decoded = decodeInstrDescriptor(word, form);
      const InstrDescriptor &d = decoded.descriptor;
      EXPECT_EQ(nameOf(d.scale), scale);
      EXPECT_EQ(d.scaleIdA, word >> 29 & 3);
      EXPECT_EQ(d.scaleIdB, word >> 4 & 3);
      EXPECT_EQ(d.k, form.kind == MmaKind::MXF8F6F4 ? 32u : 64u);
      bool aligned = d.scaleIdA % form.scaleVector == 0 &&
                     d.scaleIdB % form.scaleVector == 0;
      EXPECT_EQ(!decoded.error, aligned) << decoded.error.value_or("accepted");
      ++words;
    }
  }
  EXPECT_GE(words, 100u);
}

TEST(InstrDescriptor, DecodesFlags) {
  nlohmann::json data = readJson("instr_desc.json");
  unsigned found = 0;
  for (const nlohmann::json &record : data["words"]) {
    if (record["kind"] != "flags")
      continue;
    std::string what = record["what"];
    MmaForm form{what.rfind("s8", 0) == 0 ? MmaKind::I8 : MmaKind::F16};
    if (what.rfind("mx", 0) == 0)
      form = {MmaKind::MXF8F6F4, 1, false, false, true, 1};
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

/// The manual has four sparsity selectors.
TEST(InstrDescriptor, SaysWhichSelectorsAreExecuted) {
  MmaForm form{MmaKind::F16};
  form.sparse = true;
  for (uint32_t selector = 0; selector < 4; ++selector) {
    uint32_t word = 0x490 | 4 | 4 << 17 | 8 << 24 | selector;
    std::string error = decodeInstrDescriptor(word, form).error.value_or("");
    EXPECT_EQ(error.empty(), selector < 2) << error;
    EXPECT_EQ(error.ends_with("not executed"), selector > 1) << error;
  }
}

/// Forms by the name of their operation in the library.
const std::map<std::string, MmaForm> ops = {
    {"SM100_MMA_TF32_SS", {MmaKind::TF32, 1, false, false}},
    {"SM100_MMA_F16BF16_SS", {MmaKind::F16, 1, false, false}},
    {"SM100_MMA_TF32_TS", {MmaKind::TF32, 1, true, false}},
    {"SM100_MMA_F16BF16_TS", {MmaKind::F16, 1, true, false}},
    {"SM100_MMA_F16BF16_2x1SM_SS", {MmaKind::F16, 2, false, false}},
    {"SM100_MMA_F16BF16_2x1SM_TS", {MmaKind::F16, 2, true, false}},
    {"SM100_MMA_S8_SS", {MmaKind::I8, 1, false, false}},
    {"SM100_MMA_S8_2x1SM_SS", {MmaKind::I8, 2, false, false}},
    {"SM100_MMA_F8F6F4_TS", {MmaKind::F8F6F4, 1, true, false}},
    {"SM100_MMA_F16BF16_SS_SPARSE", {MmaKind::F16, 1, false, false, true}},
    {"SM100_MMA_TF32_2x1SM_SS_SPARSE", {MmaKind::TF32, 2, false, false, true}},
    {"SM100_MMA_F8F6F4_SS_SPARSE", {MmaKind::F8F6F4, 1, false, false, true}},
    {"SM100_MMA_F8F6F4_2x1SM_SS_SPARSE",
     {MmaKind::F8F6F4, 2, false, false, true}},
    {"SM100_MMA_S8_SS_SPARSE", {MmaKind::I8, 1, false, false, true}},
    {"SM100_MMA_MXF8F6F4_SS", {MmaKind::MXF8F6F4, 1, false, false, false, 1}},
    {"SM100_MMA_MXF8F6F4_2x1SM_SS",
     {MmaKind::MXF8F6F4, 2, false, false, false, 1}},
    {"SM100_MMA_MXF8F6F4_SS_SPARSE",
     {MmaKind::MXF8F6F4, 1, false, false, true, 1}},
    {"SM100_MMA_MXF8F6F4_2x1SM_SS_SPARSE",
     {MmaKind::MXF8F6F4, 2, false, false, true, 1}},
    {"SM100_MMA_MXF4_SS", {MmaKind::MXF4, 1, false, false, false, 2}},
    {"SM100_MMA_MXF4_2x1SM_SS", {MmaKind::MXF4, 2, false, false, false, 2}},
    {"SM100_MMA_MXF4NVF4_SS_SPARSE",
     {MmaKind::MXF4NVF4, 1, false, false, true, 4}},
    {"SM100_MMA_MXF4NVF4_2x1SM_SS_SPARSE",
     {MmaKind::MXF4NVF4, 2, false, false, true, 4}}};

/// The bits of the types of each kind.
const std::map<MmaKind, uint32_t> types = {
    {MmaKind::F16, 0x490},         {MmaKind::TF32, 0x910},
    {MmaKind::F8F6F4, 0x10},       {MmaKind::I8, 0x4a0},
    {MmaKind::MXF8F6F4, 1u << 23}, {MmaKind::MXF4, 0x800480},
    {MmaKind::MXF4NVF4, 0x480}};

/// Returns whether the library's wrapper takes a shape.
bool takes(const nlohmann::json &wrapper, uint32_t m, uint32_t n) {
  std::string key = "M" + std::to_string(m);
  if (!wrapper.contains(key))
    return false;
  const nlohmann::json &range = wrapper[key];
  uint32_t least = range["n_min"], step = range["steps"].back();
  return n >= least && (n % step == 0 || n == least);
}

/// Every N that the library takes is legal without a warning, every other N is
/// an error or a warning, for forms with K-major operands.
TEST(InstrDescriptor, ShapesAreTheLibrarys) {
  nlohmann::json data = readJson("mma_shapes.json");
  unsigned checked = 0;
  for (const nlohmann::json &wrapper : data["wrappers"]) {
    auto op = ops.find(wrapper["op"]);
    if (op == ops.end())
      continue;
    for (uint32_t m : {64u, 128u, 256u})
      for (uint32_t n = 8; n <= 256; n += 8, ++checked) {
        uint32_t word = types.at(op->second.kind) |
                        uint32_t(op->second.sparse) << 2 | (n >> 3) << 17 |
                        (m >> 4) << 24;
        DecodedInstr decoded = decodeInstrDescriptor(word, op->second);
        EXPECT_EQ(!decoded.error && !decoded.warning, takes(wrapper, m, n))
            << op->first << " M " << m << " N " << n << ": "
            << decoded.error.value_or(decoded.warning.value_or("accepted"));
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

TEST(InstrDescriptor, RefusesIllegalFieldsOfScaledKinds) {
  const MmaForm mx8{MmaKind::MXF8F6F4, 1, false, false, false, 1};
  const MmaForm mx4{MmaKind::MXF4, 1, false, false, false, 2};
  const MmaForm nv2{MmaKind::MXF4NVF4, 1, false, false, false, 2};
  const MmaForm nv4{MmaKind::MXF4NVF4, 1, false, false, false, 4};
  constexpr uint32_t word8 = 0x08a00000, word4 = 0x08a00480;
  EXPECT_FALSE(decodeInstrDescriptor(word8, mx8).error);
  for (unsigned bit : {0u, 1u, 3u, 6u, 8u, 24u, 25u, 26u, 27u, 28u, 31u})
    EXPECT_TRUE(decodeInstrDescriptor(word8 ^ 1u << bit, mx8).error) << bit;
  for (const MmaForm &form : {mx4, nv2, nv4})
    for (unsigned bit : {0u, 3u, 4u, 6u, 7u, 12u, 15u, 16u, 24u, 29u, 31u}) {
      EXPECT_FALSE(decodeInstrDescriptor(word4, form).error);
      EXPECT_TRUE(decodeInstrDescriptor(word4 ^ 1u << bit, form).error) << bit;
    }
  // Only four factors per row may be ue4m3.
  for (const MmaForm &form : {mx8, mx4, nv2})
    EXPECT_TRUE(
        decodeInstrDescriptor((form.kind == MmaKind::MXF8F6F4 ? word8 : word4) &
                                  ~(1u << 23),
                              form)
            .error);
  EXPECT_FALSE(decodeInstrDescriptor(word4 & ~(1u << 23), nv4).error);
}

} // namespace
