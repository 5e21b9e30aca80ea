//===- IREE.cpp - IREE's attention ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "fmha/Dialect/FMHA/IR/ScoreCost.h"
#include "fmha/Dialect/FMHA/IR/ScoreRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

namespace {
/// The loops of the op: each is a batch, a group or head, a row, a key, or a
/// column of K or V.
struct Loops {
  /// The letter of each loop: b, h, g (query heads of a KV head), l, j (keys),
  /// d (contracted), v (columns of V); '.' if it has none yet.
  std::string letters;
  AffineMap query, key, value, output, mask;
};
} // namespace

/// Returns whether the map uses loop `d`.
static bool uses(AffineMap map, unsigned d) { return map.isFunctionOfDim(d); }

/// Reads the maps of q, k, v, scale, mask if there is one, and the output.
static std::optional<Loops> readMaps(Operation *op, bool hasMask) {
  auto maps = op->getAttrOfType<ArrayAttr>("indexing_maps");
  if (!maps || maps.size() != 5u + hasMask)
    return std::nullopt;
  SmallVector<AffineMap> all;
  for (Attribute attribute : maps) {
    auto map = dyn_cast<AffineMapAttr>(attribute);
    if (!map || !map.getValue().isProjectedPermutation(
                    /*allowZeroInResults=*/false))
      return std::nullopt;
    all.push_back(map.getValue());
  }
  unsigned loops = all[0].getNumDims();
  if (llvm::any_of(all,
                   [&](AffineMap map) { return map.getNumDims() != loops; }))
    return std::nullopt;
  return Loops{
      std::string(loops, '.'),       all[0], all[1], all[2], all.back(),
      hasMask ? all[4] : AffineMap()};
}

/// Returns the letter of a loop by the maps that use it: b for batches and
/// heads, l for rows and groups of heads, '.' if the maps fit none.
static char letterOf(const Loops &loops, unsigned d) {
  bool q = uses(loops.query, d), k = uses(loops.key, d),
       v = uses(loops.value, d), o = uses(loops.output, d);
  struct {
    bool q, k, v, o;
    char letter;
  } const kinds[] = {{true, true, true, true, 'b'},
                     {true, false, false, true, 'l'},
                     {false, true, true, false, 'j'},
                     {true, true, false, false, 'd'},
                     {false, false, true, true, 'v'}};
  for (auto kind : kinds)
    if (q == kind.q && k == kind.k && v == kind.v && o == kind.o)
      return kind.letter;
  return '.';
}

/// Names the loops: of two batch loops of the output the second is that of
/// heads, and of two row loops the first is that of a group of heads. Returns
/// false if there are others.
static bool nameLoops(Loops &loops) {
  for (unsigned d : llvm::seq(loops.letters.size()))
    loops.letters[d] = letterOf(loops, d);
  SmallVector<unsigned> batches, rows;
  for (AffineExpr result : loops.output.getResults()) {
    unsigned d = cast<AffineDimExpr>(result).getPosition();
    if (loops.letters[d] == 'b')
      batches.push_back(d);
    else if (loops.letters[d] == 'l')
      rows.push_back(d);
  }
  if (batches.size() == 2)
    loops.letters[batches[1]] = 'h';
  if (rows.size() == 2)
    loops.letters[rows[0]] = 'g';
  StringRef letters = loops.letters;
  return !batches.empty() && batches.size() <= 2 && !rows.empty() &&
         rows.size() <= 2 && letters.count('j') == 1 &&
         letters.count('d') == 1 && letters.count('v') == 1 &&
         letters.count('.') == 0;
}

/// Returns the letters of a map's results.
static std::string lettersOf(const Loops &loops, AffineMap map) {
  std::string letters;
  for (AffineExpr result : map.getResults())
    letters.push_back(loops.letters[cast<AffineDimExpr>(result).getPosition()]);
  return letters;
}

/// Returns `letters` with the first letter of each name replaced by the second.
static std::string renamed(std::string letters,
                           ArrayRef<std::pair<char, char>> names) {
  for (char &letter : letters)
    for (auto [from, to] : names)
      if (letter == from) {
        letter = to;
        break;
      }
  return letters;
}

/// Returns whether the KV head comes before the query head in its group, so
/// that both together are the query head of fmha.attention.
static bool groupsFollowHeads(StringRef letters) {
  size_t head = letters.find('h'), group = letters.find('g');
  return head == StringRef::npos || group == StringRef::npos || head < group;
}

/// Reads the operands' views.
static std::optional<Refusal> readOperands(Operation *op, const Loops &loops,
                                           AttentionForm &form) {
  struct {
    TensorView *view;
    Value value;
    AffineMap map;
    SmallVector<std::pair<char, char>> names;
  } const views[] = {
      {&form.query, op->getOperand(0), loops.query, {{'g', 'h'}}},
      {&form.key, op->getOperand(1), loops.key, {{'j', 'l'}}},
      {&form.value, op->getOperand(2), loops.value, {{'j', 'l'}, {'v', 'd'}}},
      {&form.output, op->getResult(0), loops.output, {{'g', 'h'}, {'v', 'd'}}}};
  for (const auto &[view, value, map, names] : views) {
    std::string letters = lettersOf(loops, map);
    if (!groupsFollowHeads(letters))
      return Refusal(Reason::Maps, "a group of heads before the heads");
    auto read = viewOf(value, renamed(letters, names));
    if (auto *refusal = std::get_if<Refusal>(&read))
      return *refusal;
    *view = std::get<TensorView>(read);
  }
  return std::nullopt;
}

/// Returns letters of loops as those of ScorePlace::at.
static std::string scoreLetters(const Loops &loops, std::string letters) {
  bool hasGroup = StringRef(loops.letters).contains('g');
  return renamed(std::move(letters), {{'h', hasGroup ? 'k' : 'h'}, {'l', 'i'}});
}

/// Returns a refusal if the letters need the size of a group of heads, which is
/// dynamic.
static std::optional<Refusal> checkGroups(StringRef letters,
                                          const AttentionForm &form) {
  bool divides = letters.find_first_of("kg") != StringRef::npos;
  if (divides && (ShapedType::isDynamic(form.query.extent('h')) ||
                  ShapedType::isDynamic(form.key.extent('h'))))
    return Refusal(Reason::Maps, "a mask by heads whose number is dynamic");
  return std::nullopt;
}

/// Reads the mask.
static std::optional<Refusal> readMask(Value mask, const Loops &loops,
                                       AttentionForm &form) {
  std::string letters = scoreLetters(loops, lettersOf(loops, loops.mask));
  RankedTensorType type = tensorTypeOf(mask);
  if (!type || type.getRank() != int64_t(letters.size()))
    return Refusal(Reason::Capture, textOf(mask.getType()));
  if (StringRef(letters).find_first_of("dv") != StringRef::npos)
    return Refusal(Reason::Maps, "a mask of columns");
  if (auto refusal = checkGroups(letters, form))
    return refusal;
  bool isFloat = isa<FloatType>(type.getElementType());
  form.score.push_back(isFloat ? addBias({mask, type, letters})
                               : keepWhere({mask, type, letters}));
  return std::nullopt;
}

/// Reads the scale, a constant.
static std::optional<Refusal> readScale(Operation *op, AttentionForm &form) {
  Value scale = op->getOperand(3);
  form.scale = numberOf(constantOf(scale));
  if (!form.scale)
    return Refusal(Reason::NotConstant, "scale");
  return std::nullopt;
}

/// Returns whether `value` is -inf.
static bool isHidden(Value value) {
  return numberOf(constantOf(value)) ==
         -std::numeric_limits<double>::infinity();
}

/// Returns whether `op` computes integers or conditions from positions.
static bool isPositionCode(Operation &op) {
  if (op.getName().getStringRef() == "iree_linalg_ext.index")
    return true;
  if (!mayStandInScore(&op) || isDivision(&op))
    return false;
  return isa<arith::ConstantOp>(op) ||
         (op.getNumResults() == 1 &&
          isa<IndexType, IntegerType>(op.getResult(0).getType()) &&
          llvm::none_of(op.getOperandTypes(),
                        [](Type type) { return isa<FloatType>(type); }));
}

/// Returns why the score region has no index for the loop of `op`, or nothing.
static std::optional<Refusal> checkIndex(Operation &op, StringRef letters) {
  if (op.getName().getStringRef() != "iree_linalg_ext.index")
    return std::nullopt;
  auto dim = op.getAttrOfType<IntegerAttr>("dim");
  if (op.getNumOperands() || op.getNumResults() != 1 ||
      !op.getResult(0).getType().isIndex())
    return Refusal(Reason::ScoreRegion, "an index of other types");
  if (!dim || !dim.getType().isSignlessInteger(64) || dim.getInt() < 0 ||
      dim.getInt() >= int64_t(letters.size()) ||
      StringRef("dv").contains(letters[dim.getInt()]))
    return Refusal(Reason::ScoreRegion, "the index of another loop");
  return std::nullopt;
}

/// Returns why the region does more than keep or hide scores by position.
static std::optional<Refusal> checkRegion(Region &region, StringRef letters) {
  if (!region.hasOneBlock() || region.front().empty() ||
      region.getNumArguments() != 1 || !region.getArgument(0).getType().isF32())
    return Refusal(Reason::ScoreRegion, "other blocks or arguments");
  Block &block = region.front();
  DenseSet<Value> scores = {block.getArgument(0)};
  for (Operation &op : llvm::drop_end(block)) {
    for (Value operand : op.getOperands())
      if (operand.getParentRegion() != &region && !constantOf(operand))
        return Refusal(Reason::ScoreRegion, "a value from outside");
    if (auto refusal = checkIndex(op, letters))
      return refusal;
    auto select = dyn_cast<arith::SelectOp>(op);
    if (select && isa<FloatType>(select.getType())) {
      if (!(scores.contains(select.getTrueValue()) &&
            isHidden(select.getFalseValue())) &&
          !(scores.contains(select.getFalseValue()) &&
            isHidden(select.getTrueValue())))
        return Refusal(Reason::ScoreRegion, "another select");
      scores.insert(select.getResult());
    } else if (!isPositionCode(op)) {
      return Refusal(Reason::ScoreRegion, op.getName().getStringRef().str());
    }
  }
  Operation &yield = block.back();
  if (yield.getName().getStringRef() != "iree_linalg_ext.yield" ||
      yield.getNumOperands() != 1 || yield.getNumResults() ||
      !scores.contains(yield.getOperand(0)))
    return Refusal(Reason::ScoreRegion, "a result that is no score");
  return std::nullopt;
}

/// Returns the index of a loop in the score region.
static Value positionOf(const ScorePlace &place, Operation &op,
                        const std::string &letters) {
  auto dim = op.getAttrOfType<IntegerAttr>("dim");
  return place.at(letters[dim.getInt()]);
}

/// Returns the step that clones the region.
static ScoreStep cloneRegion(Region &region, std::string letters) {
  return {std::nullopt,
          [&region, letters](const ScorePlace &place, Value score, Value) {
            IRMapping mapping;
            Block &block = region.front();
            mapping.map(block.getArgument(0), score);
            for (Operation &op : llvm::drop_end(block)) {
              if (op.getName().getStringRef() == "iree_linalg_ext.index")
                mapping.map(op.getResult(0), positionOf(place, op, letters));
              else
                place.b.clone(op, mapping);
            }
            return mapping.lookupOrDefault(block.back().getOperand(0));
          }};
}

/// Adds the region's code, if it does anything.
static std::optional<Refusal> readRegion(Operation *op, const Loops &loops,
                                         AttentionForm &form) {
  if (op->getNumRegions() == 0 || op->getRegion(0).empty())
    return std::nullopt;
  Region &region = op->getRegion(0);
  std::string letters = scoreLetters(loops, loops.letters);
  if (auto refusal = checkRegion(region, letters))
    return refusal;
  Block &block = region.front();
  if (block.back().getOperand(0) == block.getArgument(0))
    return std::nullopt;
  if (auto refusal = checkGroups(letters, form))
    return refusal;
  form.score.push_back(cloneRegion(region, letters));
  return std::nullopt;
}

Reading fmha::raise::readIREE(Operation *op, const ReadOptions &) {
  unsigned operands = op->getNumOperands();
  if (operands < 5 || operands > 6 || op->getNumResults() != 1)
    return Refusal(Reason::Operands,
                   "4 or 5 inputs, an output on tensors and a result",
                   std::to_string(operands));
  std::optional<Loops> loops = readMaps(op, operands == 6);
  if (!loops)
    return Refusal(Reason::Maps, "none, or maps of other expressions");
  if (!nameLoops(*loops))
    return Refusal(Reason::Maps, "loops " + loops->letters);
  NamedForm named;
  AttentionForm &form = named.attention;
  if (auto refusal = readOperands(op, *loops, form))
    return *refusal;
  if (auto refusal = readScale(op, form))
    return *refusal;
  if (auto refusal = readRegion(op, *loops, form))
    return *refusal;
  if (operands == 6)
    if (auto refusal = readMask(op->getOperand(4), *loops, form))
      return *refusal;
  return named;
}
