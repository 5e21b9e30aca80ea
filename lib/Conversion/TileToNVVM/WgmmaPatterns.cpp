//===- WgmmaPatterns.cpp - wgmma and related ops as inline PTX ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inline PTX instead of nvvm ops: a product with its fence, and a wait, take
// the registers as inputs and return them, so that LLVM moves no access to them
// across. An operand that is returned unchanged costs no instruction.
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

/// Returns the elements from which vectorOf() built `vector`, or nothing. Using
/// them avoids a vector between statements, which LLVM resolves slowly.
static SmallVector<Value> elementsMade(Value vector) {
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  SmallVector<Value> elements(size);
  for (int64_t n = size - 1; n >= 0; --n) {
    auto insert = vector.getDefiningOp<LLVM::InsertElementOp>();
    if (!insert || getConstantIntValue(insert.getPosition()) != n)
      return {};
    elements[n] = insert.getValue();
    vector = insert.getVector();
  }
  return elements;
}

/// Appends the elements of a vector, or a scalar.
static void appendElements(ImplicitLocOpBuilder &b, Value vector,
                           SmallVectorImpl<Value> &elements) {
  if (!isa<VectorType>(vector.getType()))
    return elements.push_back(vector);
  if (SmallVector<Value> made = elementsMade(vector); !made.empty())
    return elements.append(made);
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  for (int64_t n = 0; n < size; ++n)
    elements.push_back(
        LLVM::ExtractElementOp::create(b, vector, constant(b, n)));
}

/// Returns results [first, ...) of a statement, as a vector or scalar.
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

/// Returns "=f,=r,0,1", the constraints of registers that are passed through.
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

struct LowerWgmmaWait : public OpConversionPattern<WgmmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WgmmaWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    std::string text = "wgmma.wait_group.sync.aligned " +
                       std::to_string(op.getPending()) + ";";
    // LLVM would merge two equal ones, before the branch that they are in.
    if (op.getRescales())
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

/// The operands of the statement are the registers of D, those of the
/// accumulator if there is one, A and B, in the order of the constraints.
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
    appendElements(b, adaptor.getA(), operands);
    operands.push_back(adaptor.getB());
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
  static constexpr unsigned wordsOfA = 4;

  static std::string operand(unsigned number) {
    return "$" + std::to_string(number);
  }
  /// "{$0, $1, ...}"
  static std::string list(unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned n = 0; n < count; ++n)
      text += (n ? ", " : "") + operand(first + n);
    return text + "}";
  }

  /// wgmma.fence.sync.aligned;
  /// { .reg .pred p; .reg .b64 a, b;
  /// setp.ne.b32 p, 0, 0; ...
  /// setp.ne.b32 p, 1, 0; ... }, where the first step overwrites D.
  static std::string textOf(WgmmaOp op, unsigned firstOfA) {
    std::string text = "wgmma.fence.sync.aligned;\n\t"
                       "{ .reg .pred p; .reg .b64 a, b;";
    for (int64_t step = 0; step < op.countSteps(); ++step) {
      bool adds = step > 0 || op.getAcc();
      if (step == 0 || (step == 1 && !op.getAcc()))
        text +=
            std::string("\n\tsetp.ne.b32 p, ") + (adds ? "1" : "0") + ", 0;";
      text += stepText(op, firstOfA, step);
    }
    return text + " }";
  }

  /// add.s64 a, $8, 2; add.s64 b, $9, 2;
  /// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {d}, a, b, p,
  ///   scale of a, scale of b, transposition of A in memory, of B;
  static std::string stepText(WgmmaOp op, unsigned firstOfA, int64_t step) {
    unsigned size = cast<VectorType>(op.getType()).getDimSize(0);
    bool inRegisters = op.hasRegistersOfA();
    unsigned firstOfB =
        firstOfA + (inRegisters ? wordsOfA * op.countSteps() : 1);
    std::string text;
    std::string a =
        inRegisters ? list(firstOfA + wordsOfA * step, wordsOfA)
                    : advanced(operand(firstOfA), op.stepOfA(step), "a", text);
    std::string b = advanced(operand(firstOfB), op.stepOfB(step), "b", text);
    std::string type = op.getElement().isF16() ? "f16" : "bf16";
    text += "\n\twgmma.mma_async.sync.aligned.m64n" + std::to_string(2 * size) +
            "k16.f32." + type + "." + type + " " + list(0, size) + ", " + a +
            ", " + b + ", p, " + (op.getNegate() ? "-1, 1" : "1, 1");
    if (!inRegisters)
      text += ", 0";
    return text + (op.getTransposeB() ? ", 1;" : ", 0;");
  }

  /// Returns the descriptor at offset `bytes`: its address counts 16 bytes, and
  /// does not carry out of its field. Appends the sum in `made` to `text`.
  static std::string advanced(const std::string &descriptor, int64_t bytes,
                              const char *made, std::string &text) {
    if (bytes == 0)
      return descriptor;
    text += std::string("\n\tadd.s64 ") + made + ", " + descriptor + ", " +
            std::to_string(bytes >> 4) + ";";
    return made;
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

/// The barrier's index is an immediate, or a sum in a register.
template <typename OpTy>
struct LowerNamedBarrier : public OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> number;
    if (Value distance = adaptor.getDistance())
      number.push_back(
          LLVM::AddOp::create(b, distance, constant(b, op.getBarrier())));
    std::string operands =
        (number.empty() ? std::to_string(op.getBarrier()) : "$0") + ", " +
        std::to_string(op.getThreads()) + ";";
    bool waits = std::is_same_v<OpTy, SyncNamedOp>;
    statement(b, {}, number,
              std::string("barrier.cta.") + (waits ? "sync" : "arrive") +
                  ".aligned " + operands,
              number.empty() ? "~{memory}" : "r,~{memory}");
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void fmha::separateRegistersOfA(Operation *root) {
  root->walk([](WgmmaOp op) {
    Value a = op.getA();
    auto passesOn = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return isa<WgmmaWaitOp>(user) && user->getBlock() == op->getBlock() &&
             op->isBeforeInBlock(user);
    };
    if (!op.hasRegistersOfA() || llvm::none_of(a.getUses(), passesOn))
      return;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Value own = passThrough(b, a, "").front();
    a.replaceUsesWithIf(own, passesOn);
    op.getAMutable().assign(own);
  });
}

void fmha::populateWgmmaPatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter) {
  patterns
      .add<LowerWgmmaWait, LowerWgmmaCommit, LowerWgmma, LowerStoreMatrix,
           LowerNamedBarrier<SyncNamedOp>, LowerNamedBarrier<ArriveNamedOp>>(
          converter, patterns.getContext());
}
