//===- DialectTest.cpp - What the fmha dialect brings along ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Returns an op on the three values, built with `regions` empty regions.
AttentionOp buildAttention(OpBuilder &b, Value q, Value kv, Value out,
                           unsigned regions) {
  Value none;
  return AttentionOp::create(
      b, b.getUnknownLoc(), TypeRange(out.getType()), q, kv, kv, none, none,
      none, none, none, none, none, none, none, none, none, none, none, none,
      none, none, none, none, none, none, out, none, none, none,
      /*unnormalised=*/UnitAttr(),
      /*scale=*/FloatAttr(),
      /*mask=*/MaskAttr(), /*source2_mask=*/MaskAttr(),
      /*schedule=*/ScheduleAttr(), /*scale_per_head=*/UnitAttr(),
      /*scale_per_page=*/UnitAttr(), /*rotary=*/RotaryAttr(),
      /*block_rows=*/IntegerAttr(), /*block_keys=*/IntegerAttr(), regions);
}

} // namespace

// Without score code the op has no region, or an empty one.
TEST(FMHADialect, BuildsAndClonesTheOpWithAndWithoutAScore) {
  MLIRContext context;
  context.loadDialect<FMHADialect>();
  OpBuilder b(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  auto type = RankedTensorType::get({1, 8, 2, 64}, b.getF16Type());
  Value x = UnrealizedConversionCastOp::create(b, b.getUnknownLoc(), type,
                                               ValueRange())
                .getResult(0);
  for (unsigned regions : {0u, 1u}) {
    AttentionOp op = buildAttention(b, x, x, x, regions);
    EXPECT_EQ(op->getNumRegions(), regions);
    EXPECT_TRUE(succeeded(op.verify()));
    EXPECT_EQ(op.getScore(), nullptr);
    EXPECT_FALSE(op.getProblem().score);
    auto clone = cast<AttentionOp>(b.clone(*op));
    EXPECT_EQ(clone->getNumRegions(), regions);
  }
  AttentionOp op = buildAttention(b, x, x, x, 1);
  Block *body = b.createBlock(
      &op.getScoreRegions().front(), {},
      {b.getF32Type(), b.getIndexType(), b.getIndexType(), b.getIndexType(),
       b.getIndexType(), b.getIndexType(), b.getIndexType()},
      SmallVector<Location>(7, b.getUnknownLoc()));
  YieldOp::create(b, b.getUnknownLoc(), body->getArgument(0));
  EXPECT_EQ(op.getScore(), body->getParent());
  EXPECT_TRUE(op.getProblem().score);
  b.setInsertionPointAfter(op);
  auto clone = cast<AttentionOp>(b.clone(*op));
  ASSERT_NE(clone.getScore(), nullptr);
  EXPECT_TRUE(succeeded(verify(*module)));
}

// fmha-opt loads every dialect that a pass or a text names; a program that
// loads this one alone must get what its interfaces build.
TEST(FMHADialect, LoadsTheDialectsThatItsInterfacesBuild) {
  MLIRContext context;
  context.loadDialect<FMHADialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    %q = builtin.unrealized_conversion_cast to tensor<1x?x4x64xf16>
    %k = builtin.unrealized_conversion_cast to tensor<1x?x2x64xf16>
    %o = fmha.attention
        ins(%q, %k, %k : tensor<1x?x4x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>)
        outs(%q : tensor<1x?x4x64xf16>) -> tensor<1x?x4x64xf16>
  )",
                                            &context);
  ASSERT_TRUE(module);
  AttentionOp op = *module->getOps<AttentionOp>().begin();
  OpBuilder builder(op);
  ReifiedRankedShapedTypeDims shapes;
  ASSERT_TRUE(succeeded(op.reifyResultShapes(builder, shapes)));
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(getConstantIntValue(shapes[0][0]), 1);
  EXPECT_EQ(cast<Value>(shapes[0][1]).getDefiningOp()->getName().getStringRef(),
            "tensor.dim");
}
