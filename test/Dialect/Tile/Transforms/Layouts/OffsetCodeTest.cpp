//===- OffsetCodeTest.cpp - Code for the offset of an index ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of layouts that are drawn at random is executed for each index, and
// compared with the layout. FMHA_TEST_SEED=N repeats the draw of a failure.
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/Transforms/OffsetCode.h"
#include "../../../../Layout/Algebra/RandomLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace fmha::layout::algebra;

namespace {

constexpr unsigned draws = 12000;

/// A block with one i32 argument, and code on it.
class Code {
public:
  explicit Code(MLIRContext &context)
      : module(ModuleOp::create(UnknownLoc::get(&context))),
        b(UnknownLoc::get(&context), module->getBodyRegion()) {
    block = module->getBody();
    index = block->addArgument(b.getI32Type(), b.getLoc());
    b.setInsertionPointToEnd(block);
  }

  template <typename L> void emit(const L &layout) {
    result = fmha::tile::offsetOf(b, layout, index);
  }
  template <typename L> void emitAt(const L &layout, int32_t known) {
    result = fmha::tile::offsetOf(
        b, layout, arith::ConstantOp::create(b, b.getI32IntegerAttr(known)));
  }
  /// Executes the code.
  int32_t operator()(uint32_t argument) const {
    return int32_t(evaluate(result, argument));
  }
  bool isConstant() const {
    return bool(result.getDefiningOp<arith::ConstantOp>());
  }
  template <typename... Ops> bool has() const {
    return llvm::any_of(*block, [](Operation &op) { return isa<Ops...>(op); });
  }

private:
  uint32_t evaluate(Value value, uint32_t argument) const {
    if (value == index)
      return argument;
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return uint32_t(cast<IntegerAttr>(constant.getValue()).getInt());
    uint32_t x = evaluate(op->getOperand(0), argument),
             y = evaluate(op->getOperand(1), argument);
    return llvm::TypeSwitch<Operation *, uint32_t>(op)
        .Case<arith::AddIOp>([&](auto) { return x + y; })
        .Case<arith::MulIOp>([&](auto) { return x * y; })
        .Case<arith::DivUIOp>([&](auto) { return x / y; })
        .Case<arith::RemUIOp>([&](auto) { return x % y; })
        .Case<arith::ShRUIOp>([&](auto) { return x >> y; })
        .Case<arith::ShLIOp>([&](auto) { return x << y; })
        .Case<arith::AndIOp>([&](auto) { return x & y; })
        .Case<arith::OrIOp>([&](auto) { return x | y; })
        .Case<arith::XOrIOp>([&](auto) { return x ^ y; });
  }

  OwningOpRef<ModuleOp> module;
  ImplicitLocOpBuilder b;
  Block *block = nullptr;
  Value index, result;
};

class OffsetCodeTest : public testing::Test {
protected:
  OffsetCodeTest() { context.loadDialect<arith::ArithDialect>(); }

  /// Compares the code of a layout with its value at each index.
  template <typename L> void expectSame(const L &layout) {
    Code code(context);
    code.emit(layout);
    for (int64_t i = 0; i < layout.size(); ++i)
      ASSERT_EQ(code(uint32_t(i)), layout(i)) << layout.str() << " at " << i;
    Code known(context);
    known.emitAt(layout, int32_t(layout.size() - 1));
    ASSERT_TRUE(known.isConstant()) << layout.str();
    ASSERT_EQ(known(0), layout(layout.size() - 1)) << layout.str();
  }

  MLIRContext context;
};

/// Returns a layout of powers of two whose leaves have their own bits.
Layout ofBits(Draw &draw) {
  std::vector<IntTuple> shape, stride;
  std::vector<int64_t> strides = {1, 4, 32, 256};
  for (size_t i = 0, count = size_t(1 + draw.below(4)); i < count; ++i) {
    size_t at = size_t(draw.below(int64_t(strides.size())));
    shape.push_back(draw.oneOf({1, 2, 4}));
    stride.push_back(draw.below(4) ? strides[at] : 0);
    strides.erase(strides.begin() + int64_t(at));
  }
  return {IntTuple::tuple(shape), IntTuple::tuple(stride)};
}

TEST_F(OffsetCodeTest, RandomLayoutsHaveTheirOffsets) {
  unsigned count = 0;
  for (uint32_t seed = firstSeed(); count < draws; ++seed, ++count) {
    SCOPED_TRACE("FMHA_TEST_SEED=" + std::to_string(seed));
    Draw draw(seed);
    expectSame(draw.below(2) ? draw.any(draw.shape(4))
                             : draw.injective(draw.shape(4), 3));
    if (HasFatalFailure())
      return;
  }
  RecordProperty("layouts", int(count));
}

TEST_F(OffsetCodeTest, RandomSwizzlesHaveTheirOffsets) {
  for (uint32_t i = 0, seed = firstSeed(); i < draws; ++i, ++seed) {
    SCOPED_TRACE("FMHA_TEST_SEED=" + std::to_string(seed));
    Draw draw(seed);
    int bits = int(draw.below(4)), shift = bits + int(draw.below(3));
    Swizzle swizzle(bits, int(draw.below(5)), draw.below(3) ? shift : -shift);
    expectSame(ComposedLayout{swizzle, draw.oneOf({0, 0, 8, 13}),
                              draw.injective(draw.shape(4), 3)});
    if (HasFatalFailure())
      return;
  }
}

TEST_F(OffsetCodeTest, PowersOfTwoTakeShiftsAndMasksOnly) {
  for (uint32_t i = 0, seed = firstSeed(); i < draws; ++i, ++seed) {
    SCOPED_TRACE("FMHA_TEST_SEED=" + std::to_string(seed));
    Draw draw(seed);
    Layout layout = ofBits(draw);
    expectSame(layout);
    if (HasFatalFailure())
      return;
    Code code(context);
    code.emit(layout);
    ASSERT_FALSE((code.has<arith::DivUIOp, arith::RemUIOp, arith::MulIOp,
                           arith::AddIOp>()))
        << layout.str();
  }
}

TEST_F(OffsetCodeTest, LayoutsWithoutOffsetsAreConstants) {
  Code code(context);
  code.emit(Layout(IntTuple::tuple({4, 8}), IntTuple::tuple({0, 0})));
  EXPECT_TRUE(code.isConstant());
  EXPECT_EQ(code(31), 0);
}

} // namespace
