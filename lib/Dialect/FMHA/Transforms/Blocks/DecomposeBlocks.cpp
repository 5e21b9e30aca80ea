//===- DecomposeBlocks.cpp - Lists of blocks of keys ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block may be in a list several times, and in the lists of full blocks too.
// Each key then counts that often in the softmax, and the region `score` may
// give it another score where its block is full. So the op has two segments of
// the same keys, one for each kind of list, and each has a tensor of numbers
// [batch or 1, heads or 1, row blocks, key blocks] that says how often a list
// names a block.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fmha;

/// n[b, h, r, c] = the number of e < counts[b, h, r] with lists[b, h, r, e] ==
/// c. Entries that name no block are not counted.
Value BlockSteps::timesInLists(Value keys, Value counts, Value lists) {
  ImplicitLocOpBuilder outer(location, rewriter);
  Value keysOfBlock = arith::ConstantIndexOp::create(outer, *op.getBlockKeys());
  Value blocks = arith::CeilDivUIOp::create(
      outer, size(keys, AttentionOp::Length), keysOfBlock);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, location, counts);
  sizes.push_back(blocks);
  auto add = [&](OpBuilder &builder, Location location,
                 ValueRange elements) -> Value {
    ImplicitLocOpBuilder b(location, builder);
    Type type = b.getI32Type();
    auto loop = [&](unsigned number) -> Value {
      return arith::IndexCastOp::create(b, type, index(b, number));
    };
    Value isCounted = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                            loop(4), elements[1]);
    Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         elements[0], loop(3));
    Value both = arith::AndIOp::create(b, isCounted, isHere);
    Value more = arith::ExtUIOp::create(b, type, both);
    return arith::AddIOp::create(b, elements[2], more);
  };
  Value none = arith::ConstantOp::create(outer, outer.getI32IntegerAttr(0));
  return generic(4, 1, {{lists, {0, 1, 2, 4}}, {counts, {0, 1, 2}}},
                 {filled(none, sizes), {0, 1, 2, 3}}, add);
}

/// Returns how often the lists of the segment name the block of `key` for the
/// row of the enclosing linalg.generic over b, h and m.
Value BlockSteps::timesListed(OpBuilder &builder, Location location,
                              Value key) {
  auto block = [&](Value place, uint32_t size) -> Value {
    Value divisor = arith::ConstantIndexOp::create(builder, location, size);
    return arith::DivUIOp::create(builder, location, place, divisor);
  };
  // An extent of 1 has its only entry for all.
  const Value at[] = {index(builder, 0), index(builder, 1),
                      block(index(builder, 2), *op.getBlockRows()),
                      block(key, *op.getBlockKeys())};
  return clampedElement(builder, location, source.timesListed, at);
}

/// Returns the segments of an op with `blocks`.
SmallVector<KeySource, 2> BlockSteps::sourcesOfBlocks(KeySource all) {
  all.timesListed = timesInLists(all.key, asTensor(op.getKvNumBlocks()),
                                 asTensor(op.getKvIndices()));
  SmallVector<KeySource, 2> made = {all};
  if (!op.getFullKvNumBlocks())
    return made;
  all.timesListed = timesInLists(all.key, asTensor(op.getFullKvNumBlocks()),
                                 asTensor(op.getFullKvIndices()));
  all.isFull = true;
  made.push_back(all);
  return made;
}
