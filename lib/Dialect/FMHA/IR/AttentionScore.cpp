//===- AttentionScore.cpp - The region `score` of fmha.attention ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionScore.h"
#include "fmha/Dialect/FMHA/IR/HiddenScore.h"
#include "fmha/Dialect/FMHA/IR/ScoreCost.h"
#include "fmha/Dialect/FMHA/IR/ScoreRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Support/DebugStringHelper.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace fmha;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

static SmallVector<Type> argumentTypes(Builder &b, bool twoSources,
                                       bool hasBlocks) {
  SmallVector<Type> types = {b.getF32Type()};
  types.append(twoSources ? 7 : 6, b.getIndexType());
  if (hasBlocks)
    types.push_back(b.getI1Type());
  return types;
}

/// score(%s, %b, %h, %i, %j, %q_len, %kv_len) { ... }, or nothing. Ops with two
/// KV segments have one more name, %source, which the verifier checks, and ops
/// with `blocks` have %is_full. `score() {}` is the empty region that the
/// generic form may have, `({})`.
ParseResult
fmha::parseScore(OpAsmParser &parser,
                 SmallVectorImpl<std::unique_ptr<Region>> &regions,
                 const std::optional<OpAsmParser::UnresolvedOperand> &blocks) {
  if (failed(parser.parseOptionalKeyword("score")))
    return success();
  Region &region = *regions.emplace_back(std::make_unique<Region>());
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren))
    return failure();
  if (arguments.empty())
    return failure(parser.parseLBrace() || parser.parseRBrace());
  Builder &builder = parser.getBuilder();
  bool hasBlocks = bool(blocks);
  SmallVector<Type> types =
      argumentTypes(builder, /*twoSources=*/false, hasBlocks);
  if (arguments.size() > types.size())
    types = argumentTypes(builder, /*twoSources=*/true, hasBlocks);
  if (arguments.size() != types.size())
    return parser.emitError(place)
           << "expected the " << types.size()
           << " names of a score, its sequence, head, row and key, q_len and "
              "kv_len"
           << (hasBlocks ? ", and whether its block is full" : "") << ", got "
           << arguments.size();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return parser.parseRegion(region, arguments);
}

void fmha::printScore(OpAsmPrinter &printer, Operation *, RegionRange regions,
                      Value) {
  if (regions.empty())
    return;
  Region &region = *regions.front();
  if (region.empty()) {
    printer << "score() {}";
    return;
  }
  printer << "score(";
  llvm::interleaveComma(region.getArguments(), printer, [&](Value argument) {
    printer.printOperand(argument);
  });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionOp::getCaptures() {
  llvm::SetVector<Value> sources;
  // ReadOp's verifier, which runs after this one, reports wrong reads.
  auto insertSource = [&](ReadOp read) {
    if (read->getNumOperands() &&
        isa<ShapedType>(read->getOperand(0).getType()))
      sources.insert(read->getOperand(0));
  };
  if (Region *score = getScore())
    score->walk(insertSource);
  return sources.takeVector();
}

/// The number of the argument of a region that is the index of the key.
static constexpr unsigned keyArgument = 4;

/// Returns the values that depend on the score or on the index of the key.
static DenseSet<Value> varyingByKey(Region &score) {
  DenseSet<Value> varying = {score.getArgument(0),
                             score.getArgument(keyArgument)};
  for (Operation &op : score.front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value v) { return varying.contains(v); }))
      varying.insert_range(op.getResults());
  return varying;
}

/// Returns the ops of the region that run for all keys. A mask of partial
/// blocks is left out: it runs in few blocks, for some keys at a time.
static SmallVector<Operation *> opsForAllKeys(AttentionOp op) {
  Value yielded = op.getScore()->front().getTerminator()->getOperand(0);
  std::optional<HiddenScore> hidden = splitHidden(op);
  bool isPartial = hidden && hidden->onlyInPartialBlocks;
  return opsOf(op, isPartial ? hidden->score : yielded);
}

bool AttentionOp::readsByKey() {
  Region *score = getScore();
  if (!score || score->getNumArguments() < 7)
    return false;
  // The position of a listed key is read, too.
  if (getTopk() && !score->getArgument(keyArgument).use_empty())
    return true;
  DenseSet<Value> varying = varyingByKey(*score);
  return llvm::any_of(opsForAllKeys(*this), [&](Operation *inner) {
    return isa<ReadOp>(inner) && varying.contains(inner->getResult(0));
  });
}

/// Functions of a few instructions at most.
static constexpr StringLiteral shortFunctions[] = {
    "absf",      "absi",  "ceil",  "clampf",   "copysign", "ctlz",
    "ctpop",     "cttz",  "exp",   "exp2",     "floor",    "fma",
    "isfinite",  "isinf", "isnan", "isnormal", "log",      "log2",
    "roundeven", "rsqrt", "sqrt",  "tanh",     "trunc"};

namespace {
/// Limits of values in a region: the largest magnitude of each that has one.
/// Values that may be -inf besides are kept apart, since a product with them
/// has no limit.
class Bounds {
public:
  explicit Bounds(Block &block) {
    for (Operation &op : block.without_terminator())
      if (std::optional<Bound> bound = boundOf(&op))
        known.insert({op.getResult(0), *bound});
  }
  /// Returns the largest finite magnitude of `value`, or nothing if there is no
  /// limit.
  std::optional<double> of(Value value) const {
    std::optional<Bound> bound = find(value);
    return bound ? std::optional<double>(bound->most) : std::nullopt;
  }

private:
  struct Bound {
    double most = 0;
    bool hasMinusInfinity = false;
  };

  std::optional<Bound> find(Value value) const {
    APFloat number(0.0f);
    if (!matchPattern(value, m_ConstantFloat(&number))) {
      auto found = known.find(value);
      return found == known.end() ? std::nullopt : std::optional(found->second);
    }
    if (number.isInfinity() && number.isNegative())
      return Bound{0, true};
    if (!number.isFinite())
      return std::nullopt;
    return Bound{std::abs(number.convertToDouble()), false};
  }

  std::optional<Bound> boundOf(Operation *op) const {
    using Result = std::optional<Bound>;
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([](math::TanhOp) { return Bound{1, false}; })
        .Case([&](arith::MulFOp product) -> Result {
          Result a = find(product.getLhs()), b = find(product.getRhs());
          if (!a || !b || a->hasMinusInfinity || b->hasMinusInfinity)
            return std::nullopt;
          return Bound{a->most * b->most, false};
        })
        .Case([&](arith::SelectOp select) -> Result {
          Result a = find(select.getTrueValue());
          Result b = find(select.getFalseValue());
          if (!a || !b)
            return std::nullopt;
          return Bound{std::max(a->most, b->most),
                       a->hasMinusInfinity || b->hasMinusInfinity};
        })
        .Default(Result());
  }

  DenseMap<Value, Bound> known;
};
} // namespace

bool AttentionOp::isScoreBounded() {
  constexpr double most = 1024;
  if (!getScore())
    return false;
  Block &block = getScore()->front();
  std::optional<double> bound =
      Bounds(block).of(block.getTerminator()->getOperand(0));
  return bound && *bound <= most;
}

static bool isLongFunction(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         !llvm::is_contained(shortFunctions, op->getName().stripDialect());
}

bool AttentionOp::isScoreLong() {
  Region *score = getScore();
  if (!score || score->getNumArguments() < 7)
    return false;
  DenseSet<Value> varying = varyingByKey(*score);
  unsigned functions = 0;
  for (Operation *op : opsForAllKeys(*this)) {
    if (!varying.contains(op->getResult(0)))
      continue;
    if (isa<ReadOp>(op)) {
      // Two registers per key.
      if (isWide(op))
        return true;
      continue;
    }
    functions += isUnitFunction(op);
    if (isLongFunction(op) || isDivision(op) || isWide(op) || functions > 1)
      return true;
  }
  return false;
}

void ReadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(getSource().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable(),
                         SideEffects::DefaultResource::get());
}

/// Not speculatable without elements, where a read is undefined.
Speculation::Speculatability ReadOp::getSpeculatability() {
  auto type = dyn_cast<RankedTensorType>(getSource().getType());
  bool hasElements = type && type.hasStaticShape() && type.getNumElements() > 0;
  return hasElements ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

LogicalResult ReadOp::verify() {
  // Ops of the dialect tile take over the region; nothing else lowers a read.
  Operation *parent = (*this)->getParentOp();
  if (parent && !isa<AttentionOp>(parent) &&
      parent->getName().getDialectNamespace() != "tile")
    return emitOpError() << "expected to stand in the region `score` of "
                            "fmha.attention, got "
                         << parent->getName()
                         << "; outside of it memref.load or tensor.extract "
                            "reads an element";
  auto type = cast<ShapedType>(getSource().getType());
  if (int64_t(getIndices().size()) == type.getRank())
    return success();
  return emitOpError() << "expected an index for each of the " << type.getRank()
                       << " dimensions of the source, got "
                       << getIndices().size();
}

//===----------------------------------------------------------------------===//
// attention.C25: permitted ops of the region
//===----------------------------------------------------------------------===//

/// Returns whether kernels compute values of `type` in f32.
static bool isSingle(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

static bool isFunction(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect());
}

/// Returns why targets do not compute a function of math, or "". They compute
/// all functions of types up to f32 except integer powers, which are a loop.
static std::string reasonAgainst(Operation *op) {
  if (isa<math::IPowIOp>(op))
    return "a power of integers is a loop; write it as products";
  if (isa<math::FPowIOp>(op) && op->getOperand(1).getType().isInteger(64))
    return "an exponent has 32 bits; take it to i32 by arith.trunci";
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<IndexType>))
    return "an index has 32 bits in kernels and 64 elsewhere; take it to i32 "
           "or i64 by arith.index_cast";
  bool isKnown = llvm::all_of(op->getOperandTypes(), [](Type type) {
    return isSingle(type) || type.isInteger(32) || type.isInteger(64);
  });
  return isKnown ? ""
                 : "functions take f32, f16, bf16, i32 or i64; convert their "
                   "arguments";
}

/// Returns whether every target computes with `type`.
static bool isNumber(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<IndexType, Float16Type, BFloat16Type, Float32Type, Float64Type>(
      type);
}

static bool mayStand(Operation *op) {
  if (isa<ReadOp, YieldOp>(op))
    return true;
  if (isFunction(op))
    return reasonAgainst(op).empty();
  if (op->getNumResults() != 1 || !isNumber(op->getResult(0).getType()) ||
      op->getNumRegions())
    return false;
  if (isa<arith::ConstantOp>(op))
    return true;
  bool isArithmetic = isa_and_nonnull<arith::ArithDialect>(op->getDialect());
  return isArithmetic && op->hasTrait<OpTrait::Elementwise>();
}

static InFlightDiagnostic errorAt(Operation *op, unsigned constraint) {
  return op->emitError() << "attention.C" << constraint << ": ";
}

/// Returns whether `value` is a constant, or computed from constants, which
/// another pass may have moved out of the region.
static bool isConstant(Value value) {
  llvm::SetVector<Value> needed;
  needed.insert(value);
  for (size_t n = 0; n < needed.size(); ++n) {
    Operation *op = needed[n].getDefiningOp();
    if (!op || isa<ReadOp>(op) || !mayStand(op))
      return false;
    needed.insert_range(op->getOperands());
  }
  return true;
}

/// Checks that an operand is local, a constant, or the source of a read.
static LogicalResult verifyUse(AttentionOp op, OpOperand &use) {
  Value value = use.get();
  bool isSource = isa<ReadOp>(use.getOwner()) && use.getOperandNumber() == 0;
  bool isOwn = op.getScore()->isAncestor(value.getParentRegion());
  if (isOwn || isSource || isConstant(value))
    return success();
  return errorAt(use.getOwner(), 25)
         << "expected values of the region and constants, got one of "
         << value.getType()
         << " from outside; pass it in memory and read it by fmha.read";
}

static LogicalResult reject(Operation *op) {
  InFlightDiagnostic error = errorAt(op, 25);
  if (isFunction(op))
    return error << "expected functions of math that targets compute, got "
                 << op->getName() << " : " << op->getOperandTypes() << "; "
                 << reasonAgainst(op);
  error << "expected fmha.read, constants, and elementwise ops of arith and "
           "math on numbers in the region `score`, got "
        << op->getName();
  if (op->getNumResults() == 1)
    error << " : " << op->getResult(0).getType();
  return error << "; write it with those";
}

static LogicalResult verifyBody(AttentionOp op) {
  Block &body = op.getScore()->front();
  if (!isa<YieldOp>(body.getTerminator()))
    return errorAt(op, 25) << "expected fmha.yield at the end of the region";
  for (Operation &inner : op.getScore()->front()) {
    if (!mayStand(&inner))
      return reject(&inner);
    for (OpOperand &use : inner.getOpOperands())
      if (failed(verifyUse(op, use)))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// attention.C26: permitted captures
//===----------------------------------------------------------------------===//

static LogicalResult verifyCapture(AttentionOp op, Value source) {
  auto type = cast<ShapedType>(source.getType());
  if (!schedule::isCaptureElement(debugString(type.getElementType())))
    return errorAt(op, 26) << "expected the region to read elements "
                           << schedule::captureElementList << ", got " << type;
  if (type.getRank() > schedule::maxCaptureRank)
    return errorAt(op, 26)
           << "expected the tensors that the region reads to have a rank "
              "of at most "
           << schedule::maxCaptureRank << ", got " << type;
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!memref || memref.getRank() == 0)
    return success();
  bool isStrided = succeeded(memref.getStridesAndOffset(strides, offset));
  // The launch checks what depends on run-time values.
  if (!isStrided || (strides.back() != 1 && memref.getShape().back() != 1 &&
                     !ShapedType::isDynamic(strides.back())))
    return errorAt(op, 26)
           << "expected the tensors that the region reads to be "
              "contiguous in their last dimension (stride 1), got "
           << memref;
  return success();
}

LogicalResult fmha::verifyScore(AttentionOp op) {
  if (size_t count = op.getScoreRegions().size(); count > 1)
    return errorAt(op, 25) << "expected at most one region `score`, got "
                           << count;
  if (!op.getScore())
    return success();
  Region &region = *op.getScore();
  Builder b(op.getContext());
  SmallVector<Type> types =
      argumentTypes(b, bool(op.getKey2()), bool(op.getKvNumBlocks()));
  if (TypeRange(region.getArgumentTypes()) != TypeRange(types))
    return errorAt(op, 25)
           << "expected a region of (f32, index, index, index, index, index, "
              "index"
           << (op.getKey2() ? ", and index for the source" : "")
           << (op.getKvNumBlocks() ? ", and i1 for a full block" : "")
           << "), got (" << region.getArgumentTypes() << ")";
  if (failed(verifyBody(op)))
    return failure();
  if (size_t count = op.getCaptures().size(); count > maxScoreCaptures)
    return errorAt(op, 26) << "expected the region to read at most "
                           << maxScoreCaptures << " tensors, got " << count;
  for (Value source : op.getCaptures())
    if (failed(verifyCapture(op, source)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// For passes that build the region
//===----------------------------------------------------------------------===//

bool fmha::mayStandInScore(Operation *op) { return mayStand(op); }

bool fmha::isScoreCapture(ShapedType type) {
  return schedule::isCaptureElement(debugString(type.getElementType())) &&
         type.getRank() <= schedule::maxCaptureRank;
}

DenseSet<Value> fmha::valuesByKey(Region &score) { return varyingByKey(score); }
