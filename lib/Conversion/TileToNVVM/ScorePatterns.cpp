//===- ScorePatterns.cpp - Reads and functions of score regions -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;

/// Returns `number`, broadcast if `like` is a vector.
static Value spread(ImplicitLocOpBuilder &b, Value number, Type like) {
  auto vector = dyn_cast<VectorType>(like);
  if (!vector)
    return number;
  return vector::BroadcastOp::create(b, vector.clone(number.getType()), number);
}

static Value constantLike(ImplicitLocOpBuilder &b, double value, Type like) {
  return spread(
      b, arith::ConstantOp::create(b, b.getF32FloatAttr(float(value))), like);
}

static Type i64Like(Builder &b, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(b.getI64Type())) : b.getI64Type();
}

static Value constantIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

static Value wide(ImplicitLocOpBuilder &b, Value index) {
  return arith::IndexCastUIOp::create(b, b.getI64Type(), index);
}

/// Returns the value in a register type; registers have no 8 bits.
static Value toBits(ImplicitLocOpBuilder &b, Value value, Type kept) {
  if (value.getType().isInteger(8))
    return arith::ExtUIOp::create(b, kept, value);
  return value.getType() == kept
             ? value
             : Value(arith::BitcastOp::create(b, kept, value));
}

namespace {

/// Computes addresses of elements: 64 bits from the base on, since tensors are
/// large. Indices of a list without a parameter for its extent are inside.
///   i_d = min(index_d, size_d - 1), as unsigned numbers
///   [base + i_0·stride_0 + ... + i_last]
class Gather {
public:
  Gather(ImplicitLocOpBuilder &b, tile::GatherOp op, BlockArgument source)
      : b(b), op(op), base(source),
        name(parametersOf(op)[source.getArgNumber()].name),
        last(op.getIndices().empty() ? 0 : op.getIndices().size() - 1) {}

  /// Builds the base from the indices that all keys share.
  Value build() {
    if (op.getIndices().empty())
      return load(base);
    for (unsigned d = 0; d < last; ++d)
      addTerm(inside(op.getIndices()[d], d), d);
    auto vector = dyn_cast<VectorType>(op.getType());
    Value index = op.getIndices()[last];
    if (vector && !offset && !isa<VectorType>(index.getType()))
      return buildRow(index, vector.getDimSize(0));
    addTerm(inside(index, last), last);
    return vector ? buildScattered(vector.getDimSize(0)) : load(base);
  }

private:
  Value parameter(const char *kind, unsigned dimension) {
    return parameterOf(op, name + kind + std::to_string(dimension));
  }
  bool hasExtents() {
    return parameterIndex(parametersOf(op), name + "_size0").has_value();
  }
  Value lastOf(unsigned dimension) {
    Value size = arith::IndexCastUIOp::create(b, b.getIndexType(),
                                              parameter("_size", dimension));
    return arith::SubIOp::create(b, size, arith::ConstantIndexOp::create(b, 1));
  }
  Value inside(Value index, unsigned dimension) {
    if (!hasExtents())
      return index;
    return arith::MinUIOp::create(
        b, index, spread(b, lastOf(dimension), index.getType()));
  }
  Value elementAt(Value from, LLVM::GEPArg number) {
    return LLVM::GEPOp::create(b, base.getType(), element(), from,
                               ArrayRef<LLVM::GEPArg>{number});
  }
  Value load(Value address) {
    return LLVM::LoadOp::create(b, element(), address);
  }

  void addTerm(Value index, unsigned dimension) {
    Type type = index.getType();
    Value term = arith::IndexCastUIOp::create(b, i64Like(b, type), index);
    if (dimension != last)
      term = arith::MulIOp::create(
          b, term, spread(b, parameter("_stride", dimension), type));
    if (!isa<VectorType>(type))
      base = elementAt(base, term);
    else
      offset = offset ? Value(arith::AddIOp::create(b, offset, term)) : term;
  }

  /// Returns `count` elements, element n of which is at offsetOf(n).
  Value buildOverlapped(int64_t count,
                        llvm::function_ref<Value(int64_t)> offsetOf) {
    SmallVector<Value> elements;
    for (int64_t n = 0; n < count; ++n) {
      auto element = LLVM::LoadOp::create(b, this->element(),
                                          elementAt(base, offsetOf(n)));
      // The launch does not write what its region reads.
      element.setInvariant(true);
      elements.push_back(element);
    }
    return vector::FromElementsOp::create(b, op.getType(), elements);
  }

  /// Emits reads of the elements from `first` on, clamped to the last one:
  ///   x[n] = n <= last - first ? [base + first + n] : [base + last]
  Value buildRow(Value first, int64_t count) {
    Value end = lastOf(last);
    if (op.getOverlapped())
      return buildOverlapped(count, [&](int64_t n) {
        Value own = arith::AddIOp::create(b, first, constantIndex(b, n));
        return wide(b, arith::MinUIOp::create(b, own, end));
      });
    Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, first, end);
    Value remaining = arith::SubIOp::create(b, end, first);
    Value edge = load(elementAt(base, wide(b, end)));
    return inBlock(any, edge, count, [&](int64_t n) {
      Value there = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                          remaining, constantIndex(b, n));
      return loadIf(there, elementAt(base, wide(b, first)), n, edge);
    });
  }

  /// Emits reads of elements at separate offsets.
  Value buildScattered(int64_t count) {
    if (op.getOverlapped())
      return buildOverlapped(count, [&](int64_t n) -> Value {
        return vector::ExtractOp::create(b, offset, n);
      });
    Value always = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value some = hasExtents()
                     ? Value(arith::CmpIOp::create(
                           b, arith::CmpIPredicate::ne,
                           arith::IndexCastUIOp::create(
                               b, b.getIndexType(), parameter("_size", last)),
                           constantIndex(b, 0)))
                     : always;
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element()));
    return inBlock(some, zero, count, [&](int64_t n) {
      Value own = vector::ExtractOp::create(b, offset, n);
      return loadIf(always, elementAt(base, own), 0, zero);
    });
  }

  /// Returns a vector of `count` elements, `other` where `condition` is false.
  /// The separate block keeps loads with their uses: elements of all keys of a
  /// row at once need more registers than its scores leave, and ptxas does not
  /// move loads to another block.
  Value inBlock(Value condition, Value other, int64_t count,
                llvm::function_ref<Value(int64_t)> make) {
    auto branch = scf::IfOp::create(b, TypeRange{op.getType()}, condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> elements;
    for (int64_t n = 0; n < count; ++n)
      elements.push_back(make(n));
    scf::YieldOp::create(
        b,
        vector::FromElementsOp::create(b, op.getType(), elements).getResult());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(
        b, vector::BroadcastOp::create(b, op.getType(), other).getResult());
    return branch.getResult(0);
  }

  /// Returns the element at `from` + `number`, or `other`: one instruction
  /// under a predicate, with the distance as its offset.
  Value loadIf(Value condition, Value from, int64_t number, Value other) {
    unsigned bytes = element().getIntOrFloatBitWidth() / 8;
    static constexpr StringLiteral types[] = {"u8", "b16", "b32", "b64"};
    static constexpr StringLiteral registers[] = {"h", "h", "r", "l"};
    unsigned power = llvm::Log2_32(bytes);
    Type kept = b.getIntegerType(std::max(16u, bytes * 8));
    std::string text = ("@$3 ld.global." + types[power] + " $0, [$2+" +
                        Twine(number * bytes) + "];")
                           .str();
    std::string constraints = ("=" + registers[power] + ",0,l,b").str();
    auto loaded = LLVM::InlineAsmOp::create(
        b, kept, ValueRange{toBits(b, other, kept), from, condition}, text,
        constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
        ArrayAttr());
    return fromBits(loaded.getResult(0));
  }

  Value fromBits(Value bits) {
    if (element().isInteger(8))
      return arith::TruncIOp::create(b, element(), bits);
    return element() == bits.getType()
               ? bits
               : Value(arith::BitcastOp::create(b, element(), bits));
  }

  Type element() { return op.getSrc().getType().getElementType(); }

  ImplicitLocOpBuilder &b;
  tile::GatherOp op;
  Value base, offset;
  std::string name;
  unsigned last;
};

struct LowerGather : public OpConversionPattern<tile::GatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = dyn_cast<BlockArgument>(adaptor.getSrc());
    if (!source)
      return rewriter.notifyMatchFailure(op, "not a parameter");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, Gather(b, op, source).build());
    return success();
  }
};

/// log2 x -> lg2.approx, since llvm.log2 would be a call to a missing library.
struct LowerLog2 : public OpConversionPattern<math::Log2Op> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(math::Log2Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op).isF32())
      return rewriter.notifyMatchFailure(op, "lg2.approx is for f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto one = [&](Value x) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 b, x.getType(), b.getStringAttr("llvm.nvvm.lg2.approx.f"), x)
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!vector) {
      rewriter.replaceOp(op, one(adaptor.getOperand()));
      return success();
    }
    SmallVector<Value> elements;
    for (int64_t n = 0; n < vector.getDimSize(0); ++n)
      elements.push_back(
          one(vector::ExtractOp::create(b, adaptor.getOperand(), n)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, elements);
    return success();
  }
};

/// exp x -> exp2(x·log2 e)
struct LowerExp : public OpConversionPattern<math::ExpOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(math::ExpOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getOperand();
    rewriter.replaceOpWithNewOp<math::Exp2Op>(
        op, arith::MulFOp::create(
                b, x, constantLike(b, llvm::numbers::log2e, x.getType())));
    return success();
  }
};

/// log x -> log2(x)·ln 2
struct LowerLog : public OpConversionPattern<math::LogOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(math::LogOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getOperand();
    rewriter.replaceOpWithNewOp<arith::MulFOp>(
        op, math::Log2Op::create(b, x),
        constantLike(b, llvm::numbers::ln2, x.getType()));
    return success();
  }
};

/// tanh x -> 1 - 2·rcp(2^(2·log2 e·x) + 1), whose absolute error stays below
/// 2^-20: both approximations are good to 2^-22, and neither overflow (1) nor
/// underflow (-1) is special. A quotient of other numbers than 1 would be
/// scaled first, since its divisor may be large. The factor of x may be merged
/// with others before it. tanh.approx is off by 2^-11, and used only for
/// `fastmath<afn>`.
struct LowerTanh : public OpConversionPattern<math::TanhOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(math::TanhOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getOperand();
    auto number = [&](double value) {
      return constantLike(b, value, x.getType());
    };
    using arith::FastMathFlags;
    auto allow = [&](FastMathFlags flags) {
      return arith::FastMathFlagsAttr::get(b.getContext(), flags);
    };
    Value power = math::Exp2Op::create(
        b, arith::MulFOp::create(b, x, number(2 * llvm::numbers::log2e),
                                 allow(FastMathFlags::reassoc)));
    Value share = arith::DivFOp::create(
        b, number(1), arith::AddFOp::create(b, power, number(1)),
        allow(FastMathFlags::afn));
    rewriter.replaceOpWithNewOp<math::FmaOp>(op, share, number(-2), number(1));
    return success();
  }
};

} // namespace

void fmha::populateScorePatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter) {
  patterns.add<LowerGather, LowerLog2, LowerExp, LowerLog, LowerTanh>(
      converter, patterns.getContext());
}
