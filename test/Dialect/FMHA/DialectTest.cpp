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
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace fmha;

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
