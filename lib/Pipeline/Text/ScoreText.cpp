//===- ScoreText.cpp - A score region from flags --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text/ScoreText.h"

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

/// Prints the bit pattern, so that parsing returns the same value.
static std::string constant(const char *name, double value) {
  return llvm::formatv("        %{0} = arith.constant 0x{1} : f32\n", name,
                       llvm::utohexstr(llvm::bit_cast<uint32_t>(float(value)),
                                       /*LowerCase=*/false, 8));
}

/// tanh x = x (15 + x²) / (15 + 6x²), with relative error 2e-7 for |x| below
/// 1/4. There the absolute error of math.tanh is 3e-7 as elsewhere, which large
/// caps scale beyond the tolerance of a maximum or an LSE.
static constexpr const char *smallTanh = R"(
        %square = arith.mulf %share, %share : f32
        %fifteen = arith.constant 15.0 : f32
        %six = arith.constant 6.0 : f32
        %above = arith.addf %square, %fifteen : f32
        %below = math.fma %square, %six, %fifteen : f32
        %scaled = arith.mulf %above, %share : f32
        %small = arith.divf %scaled, %below : f32
        %limit = arith.constant 0.0625 : f32
        %is_small = arith.cmpf olt, %square, %limit : f32
        %bent = arith.select %is_small, %small, %large : f32
)";

/// Returns c·tanh(s/c).
static std::string softcapText(double cap, bool approx) {
  constexpr double mostOfTanh = 64;
  bool isLarge = cap > mostOfTanh && !approx;
  return constant("cap", cap) + constant("per_cap", 1 / cap) +
         "        %share = arith.mulf %s, %per_cap fastmath<reassoc> : f32\n" +
         (isLarge ? "        %large" : "        %bent") +
         " = math.tanh %share " + (approx ? "fastmath<afn> " : "") + ": f32\n" +
         (isLarge ? smallTanh + 1 : "") +
         "        %capped = arith.mulf %bent, %cap fastmath<reassoc> : f32\n";
}

/// Restricts a value to keys of the first segment: selects `other` for the
/// rest. A slope is one value per row, so that no score has to be selected.
static std::string ofFirst(const char *name, const char *other,
                           const char *type, bool choose) {
  if (!choose)
    return "";
  return llvm::formatv("        %other_{0} = arith.constant {1} : {2}\n"
                       "        %own_{0} = arith.select %first, %{0}, "
                       "%other_{0} : {2}\n",
                       name, other, type);
}

/// Returns s - slope·|i + offset - j|.
static std::string alibiText(const std::string &score, bool topLeft,
                             bool choose) {
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
             "{4}        %penalty = arith.mulf %{3}slope, %far : f32\n"
             "        %sloped = arith.subf {2}, %penalty : f32\n",
             place, listType, score, choose ? "own_" : "",
             ofFirst("slope", "0.0", "f32", choose))
             .str();
}

static std::string biasText(const std::string &score, bool choose) {
  return llvm::formatv("        %term = fmha.read %bias[%b, %h, %i, %j] : {0}\n"
                       "{3}        %biased = arith.addf {1}, %{2}term : f32\n",
                       tensorType("f32"), score, choose ? "own_" : "",
                       ofFirst("term", "0.0", "f32", choose));
}

static std::string maskText(const std::string &score, bool choose) {
  return llvm::formatv(
      "        %kept = fmha.read %keep[%b, %h, %i, %j] : {0}\n"
      "{3}        %zero = arith.constant 0 : i8\n"
      "        %none = arith.constant 0xFF800000 : f32\n"
      "        %seen = arith.cmpi ne, %{2}kept, %zero : i8\n"
      "        %masked = arith.select %seen, {1}, %none : f32\n",
      tensorType("i8"), score, choose ? "own_" : "",
      ofFirst("kept", "1", "i8", choose));
}

std::string fmha::scoreText(const ScoreSpec &score,
                            const schedule::Problem &problem) {
  if (!score.any())
    return "";
  bool topLeft = problem.mask.isTopLeft(), twoSources = problem.source2;
  std::string text, last = "%s";
  bool choose = twoSources && (score.alibi || score.bias || score.mask);
  if (choose)
    text = "        %source1 = arith.constant 0 : index\n"
           "        %first = arith.cmpi eq, %source, %source1 : index\n";
  auto add = [&](const std::string &step, const char *result) {
    text += step;
    last = result;
  };
  if (score.softcap)
    add(softcapText(*score.softcap, score.softcapApprox), "%capped");
  if (score.alibi)
    add(alibiText(last, topLeft, choose), "%sloped");
  if (score.bias)
    add(biasText(last, choose), "%biased");
  if (score.mask)
    add(maskText(last, choose), "%masked");
  return std::string("\n      score(%s, %b, %h, %i, %j, %q_len, %kv_len") +
         (twoSources ? ", %source" : "") +
         (problem.kvIndices ? ", %is_full" : "") + ") {\n" + text +
         "        fmha.yield " + last + " : f32\n      }";
}
