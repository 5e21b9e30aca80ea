//===- ScoreText.cpp - Code on scores from flags --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fmha;

static constexpr const char *listType = "memref<?xf32, strided<[1]>>";

static std::string tensorType(const char *element) {
  return llvm::formatv("memref<?x?x?x?x{0}, strided<[?, ?, ?, 1]>>", element);
}

std::vector<ScoreOperand> fmha::scoreOperands(const ScoreSpec &score) {
  std::vector<ScoreOperand> operands;
  if (score.alibi)
    operands.push_back({"alibi", listType});
  if (score.bias)
    operands.push_back({"bias", tensorType("f32")});
  if (score.mask)
    operands.push_back({"keep", tensorType("i8")});
  return operands;
}

/// The bits, so that the very same number comes back.
static std::string constant(const char *name, double value) {
  return llvm::formatv("        %{0} = arith.constant 0x{1} : f32\n", name,
                       llvm::utohexstr(llvm::bit_cast<uint32_t>(float(value)),
                                       /*LowerCase=*/false, 8));
}

/// c·tanh(s/c).
static std::string softcapText(double cap) {
  return constant("cap", cap) + constant("per_cap", 1 / cap) +
         "        %share = arith.mulf %s, %per_cap : f32\n"
         "        %bent = math.tanh %share : f32\n"
         "        %capped = arith.mulf %bent, %cap : f32\n";
}

/// s - slope·|i + offset - j|.
static std::string alibiText(const std::string &score, bool topLeft) {
  std::string place = "%i", text;
  if (!topLeft) {
    place = "%place";
    text = "        %offset = arith.subi %kv_len, %q_len : index\n"
           "        %place = arith.addi %i, %offset : index\n";
  }
  return text +
         llvm::formatv(
             "        %distance = arith.subi {0}, %j : index\n"
             "        %near = arith.index_cast %distance : index to i32\n"
             "        %number = arith.sitofp %near : i32 to f32\n"
             "        %far = math.absf %number : f32\n"
             "        %slope = fmha.read %alibi[%h] : {1}\n"
             "        %penalty = arith.mulf %slope, %far : f32\n"
             "        %sloped = arith.subf {2}, %penalty : f32\n",
             place, listType, score)
             .str();
}

static std::string biasText(const std::string &score) {
  return llvm::formatv("        %term = fmha.read %bias[%b, %h, %i, %j] : {0}\n"
                       "        %biased = arith.addf {1}, %term : f32\n",
                       tensorType("f32"), score);
}

static std::string maskText(const std::string &score) {
  return llvm::formatv(
      "        %kept = fmha.read %keep[%b, %h, %i, %j] : {0}\n"
      "        %zero = arith.constant 0 : i8\n"
      "        %none = arith.constant 0xFF800000 : f32\n"
      "        %seen = arith.cmpi ne, %kept, %zero : i8\n"
      "        %masked = arith.select %seen, {1}, %none : f32\n",
      tensorType("i8"), score);
}

std::string fmha::scoreText(const ScoreSpec &score, bool topLeft) {
  if (!score.any())
    return "";
  std::string text, last = "%s";
  auto add = [&](const std::string &step, const char *result) {
    text += step;
    last = result;
  };
  if (score.softcap)
    add(softcapText(*score.softcap), "%capped");
  if (score.alibi)
    add(alibiText(last, topLeft), "%sloped");
  if (score.bias)
    add(biasText(last), "%biased");
  if (score.mask)
    add(maskText(last), "%masked");
  return "\n      score(%s, %b, %h, %i, %j, %q_len, %kv_len) {\n" + text +
         "        fmha.yield " + last + " : f32\n      }";
}
