//===- WgmmaPatterns.cpp - wgmma and its neighbours as inline PTX ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statements and not nvvm ops: fence and wait take the registers as well and
// give them back, so that LLVM moves nothing that writes or reads them across.
// An operand that comes out where it went in costs no instruction.
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static Value constant(ImplicitLocOpBuilder &b, int32_t value) {
  return LLVM::ConstantOp::create(b, b.getI32Type(),
                                  b.getI32IntegerAttr(value));
}

/// A vector's elements, or a number.
static void appendElements(ImplicitLocOpBuilder &b, Value vector,
                           SmallVectorImpl<Value> &elements) {
  if (!isa<VectorType>(vector.getType()))
    return elements.push_back(vector);
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  for (int64_t n = 0; n < size; ++n)
    elements.push_back(
        LLVM::ExtractElementOp::create(b, vector, constant(b, n)));
}

/// Elements [first, ...) of what a statement gives back, as a vector or number.
static Value vectorOf(ImplicitLocOpBuilder &b, Type type, Value results,
                      int64_t &first) {
  bool single = !isa<LLVM::LLVMStructType>(results.getType());
  auto next = [&]() -> Value {
    return single ? results
                  : Value(LLVM::ExtractValueOp::create(b, results, first++));
  };
  auto vectorType = dyn_cast<VectorType>(type);
  if (!vectorType)
    return next();
  Value vector = LLVM::PoisonOp::create(b, type);
  for (int64_t n = 0; n < vectorType.getDimSize(0); ++n) {
    Value element = next();
    vector = LLVM::InsertElementOp::create(b, vector, element, constant(b, n));
  }
  return vector;
}

static Value statement(ImplicitLocOpBuilder &b, TypeRange results,
                       ValueRange operands, const std::string &text,
                       const std::string &constraints) {
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (!results.empty())
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            SmallVector<Type>(results));
  auto made = LLVM::InlineAsmOp::create(
      b, type ? TypeRange(type) : TypeRange(), operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return type ? made.getRes() : Value();
}

static const char *constraintOf(Type type) {
  return type.isF32() ? "f" : type.isInteger(64) ? "l" : "r";
}

/// "=f,=r,0,1": registers that go in and come out.
static SmallVector<Value> passThrough(ImplicitLocOpBuilder &b,
                                      ValueRange vectors,
                                      const std::string &text) {
  SmallVector<Value> elements;
  for (Value vector : vectors)
    appendElements(b, vector, elements);
  std::string outputs, inputs;
  for (auto [n, element] : llvm::enumerate(elements)) {
    outputs += (n ? ",=" : "=") + std::string(constraintOf(element.getType()));
    inputs += "," + std::to_string(n);
  }
  Value all = statement(b, ValueRange(elements).getTypes(), elements, text,
                        outputs + inputs);
  SmallVector<Value> made;
  int64_t next = 0;
  for (Value vector : vectors)
    made.push_back(vectorOf(b, vector.getType(), all, next));
  return made;
}

namespace {

struct LowerWgmmaFence : public OpConversionPattern<WgmmaFenceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WgmmaFenceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, passThrough(b, adaptor.getValues(), "wgmma.fence.sync.aligned;"));
    return success();
  }
};

struct LowerWgmmaWait : public OpConversionPattern<WgmmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WgmmaWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    std::string text = "wgmma.wait_group.sync.aligned " +
                       std::to_string(op.getPending()) + ";";
    // LLVM would make one of two alike, ahead of the branch that they are in.
    if (op->hasAttr("rescales"))
      text += " // and rescale";
    rewriter.replaceOp(op, passThrough(b, adaptor.getValues(), text));
    return success();
  }
};

struct LowerWgmmaCommit : public OpConversionPattern<WgmmaCommitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WgmmaCommitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    statement(b, {}, {}, "wgmma.commit_group.sync.aligned;", "");
    rewriter.eraseOp(op);
    return success();
  }
};

/// Operands in the order of the constraints: the registers of D, those of D
/// again where it is added to, A, B.
struct LowerWgmma : public OpConversionPattern<WgmmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WgmmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t size = cast<VectorType>(op.getType()).getDimSize(0);
    SmallVector<Value> operands;
    std::string constraints;
    for (int64_t n = 0; n < size; ++n)
      constraints += n ? ",=f" : "=f";
    if (Value acc = adaptor.getAcc()) {
      appendElements(b, acc, operands);
      for (int64_t n = 0; n < size; ++n)
        constraints += "," + std::to_string(n);
    }
    unsigned firstOfA = size + operands.size();
    appendFactors(b, adaptor, operands);
    for (Value factor : ArrayRef(operands).drop_front(firstOfA - size))
      constraints += "," + std::string(constraintOf(factor.getType()));
    SmallVector<Type> results(size, b.getF32Type());
    Value made =
        statement(b, results, operands, textOf(op, firstOfA), constraints);
    int64_t first = 0;
    rewriter.replaceOp(op, vectorOf(b, op.getType(), made, first));
    return success();
  }

private:
  static void appendFactors(ImplicitLocOpBuilder &b, OpAdaptor adaptor,
                            SmallVectorImpl<Value> &operands) {
    appendElements(b, adaptor.getA(), operands);
    operands.push_back(adaptor.getB());
  }

  /// "{$0, $1, ...}"
  static std::string list(unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned n = 0; n < count; ++n)
      text += (n ? ", $" : "$") + std::to_string(first + n);
    return text + "}";
  }

  /// { .reg .pred p; setp.ne.b32 p, 1, 0;
  ///   wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {d}, a, b, p,
  ///     scale of a, scale of b, transposition of A in memory, of B; }
  static std::string textOf(WgmmaOp op, unsigned firstOfA) {
    constexpr unsigned words = 4;
    unsigned size = cast<VectorType>(op.getType()).getDimSize(0);
    bool inRegisters = isa<VectorType>(op.getA().getType());
    std::string type = op.getElement().isF16() ? "f16" : "bf16";
    std::string a =
        inRegisters ? list(firstOfA, words) : "$" + std::to_string(firstOfA);
    unsigned b = firstOfA + (inRegisters ? words : 1);
    std::string text = "{ .reg .pred p; setp.ne.b32 p, ";
    text += op.getAcc() ? "1" : "0";
    text += ", 0; wgmma.mma_async.sync.aligned.m64n" +
            std::to_string(2 * size) + "k16.f32." + type + "." + type + " " +
            list(0, size) + ", " + a + ", $" + std::to_string(b) + ", p, ";
    text += op.getNegate() ? "-1, 1" : "1, 1";
    if (!inRegisters)
      text += ", 0";
    return text + (op.getTransposeB() ? ", 1; }" : ", 0; }");
  }
};

struct LowerStoreMatrix : public OpConversionPattern<StoreMatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StoreMatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> words;
    appendElements(b, adaptor.getValues(), words);
    auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
    NVVM::StMatrixOp::create(b, adaptor.getAddress(), words,
                             NVVM::MMALayout::row, shape,
                             NVVM::LdStMatrixEltType::B16);
    rewriter.eraseOp(op);
    return success();
  }
};

/// "$0, $1" as the operands of a named barrier.
template <typename OpTy>
struct LowerNamedBarrier : public OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    bool waits = std::is_same_v<OpTy, SyncNamedOp>;
    statement(b, {}, {},
              std::string("barrier.cta.") + (waits ? "sync" : "arrive") +
                  ".aligned " + std::to_string(op.getBarrier()) + ", " +
                  std::to_string(op.getThreads()) + ";",
              "~{memory}");
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void fmha::populateWgmmaPatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter) {
  patterns.add<LowerWgmmaFence, LowerWgmmaWait, LowerWgmmaCommit, LowerWgmma,
               LowerStoreMatrix, LowerNamedBarrier<SyncNamedOp>,
               LowerNamedBarrier<ArriveNamedOp>>(converter,
                                                 patterns.getContext());
}
