//===- CheckedOp.cpp - Run-time checks that ops share ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckedOp.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Analysis/AliasAnalysis.h"
#include "mlir/Analysis/AliasAnalysis/LocalAliasAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

void CheckedOp::add(StringRef name, Value memref) {
  if (!memref)
    return;
  bool isWritten = hasEffect<MemoryEffects::Write>(op, memref);
  operands[name.str()] = {memref, viewOf(math, memref), isWritten};
}

void CheckedOp::extents(ArrayRef<EqualExtents> table) {
  for (const EqualExtents &one : table)
    if (has(one.of) && has(one.name))
      requireEqual(view(one.of).sizes[one.ofDim], view(one.name).sizes[one.dim],
                   one.rule,
                   "dimension " + Twine(one.dim) + " of " + one.name +
                       " to equal dimension " + Twine(one.ofDim) + " of " +
                       one.of);
}

void CheckedOp::contiguous(StringRef name, StringRef rule) {
  if (!has(name))
    return;
  if (view(name).sizes.size() > 1) {
    const TensorView &tensor = view(name);
    unsigned last = tensor.sizes.size() - 1;
    Value elements = tensor.sizes[last];
    for (unsigned n = last; n-- > 0;) {
      Value isRow =
          math.compare(Predicate::ule, tensor.sizes[n], math.constant(1));
      Value isPacked = math.compare(Predicate::eq, tensor.strides[n], elements);
      require(math.either(isRow, isPacked), rule,
              "the rows of " + name +
                  " to follow each other; copy it to a contiguous buffer");
      elements = math.mul(elements, tensor.sizes[n]);
    }
    return requireEqual(tensor.strides[last], math.constant(1), rule,
                        "the rows of " + name +
                            " to be contiguous; copy it to a contiguous "
                            "buffer");
  }
  Value one = math.constant(1);
  Value isOne = math.compare(Predicate::ule, view(name).sizes[0], one);
  Value isDense = math.compare(Predicate::eq, view(name).strides[0], one);
  require(math.either(isOne, isDense), rule,
          name + " to be contiguous; copy it to a contiguous buffer");
}

/// Checks that no two elements of a destination share memory.
void CheckedOp::eachElementOnce(StringRef rule) {
  Value zero = math.constant(0), one = math.constant(1);
  for (const auto &[name, written] : operands) {
    const TensorView &tensor = written.view;
    for (unsigned n = 0; written.isWritten && n < tensor.sizes.size(); ++n) {
      Value isOne = math.compare(Predicate::ule, tensor.sizes[n], one);
      Value isStepped = math.compare(Predicate::ne, tensor.strides[n], zero);
      require(math.either(isOne, isStepped), rule,
              "the stride of dimension " + Twine(n) + " of " + name +
                  " not to be 0; give " + name + " a separate buffer");
    }
  }
}

void CheckedOp::denseRows(StringRef name, StringRef rule) {
  if (!has(name))
    return;
  Value isOne =
      math.compare(Predicate::ule, view(name).sizes.back(), math.constant(1));
  Value isDense =
      math.compare(Predicate::eq, view(name).strides.back(), math.constant(1));
  require(math.either(isOne, isDense), rule,
          "the last dimension of " + name +
              " to be contiguous; copy it to a separate buffer");
}

/// Checks that destinations share no memory with other operands, because the
/// kernel writes rows while it still reads inputs.
void CheckedOp::apart(StringRef rule) {
  LocalAliasAnalysis aliases;
  for (const auto &[name, written] : operands)
    for (const auto &[other, used] : operands) {
      bool isPair = written.isWritten && (!used.isWritten || other < name);
      if (!isPair || aliases.alias(written.memref, used.memref).isNo())
        continue;
      Value overlap = mayOverlap(math, written.view, used.view);
      Value yes = arith::ConstantIntOp::create(b, op->getLoc(), 1, 1);
      require(b.createOrFold<arith::XOrIOp>(op->getLoc(), overlap, yes), rule,
              name + " and " + other + " to share no memory; give " + name +
                  " a separate buffer");
    }
}

Value CheckedOp::load(StringRef name, Value index) {
  return memref::LoadOp::create(b, op->getLoc(), operands.at(name.str()).memref,
                                index);
}

/// Returns an entry as an unsigned index, so that a negative one is very large.
Value CheckedOp::loadCount(StringRef name, Value index) {
  return arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(),
                                    load(name, index));
}

void CheckedOp::forEachEntry(StringRef name, int64_t first,
                             function_ref<void(Value, Value)> body) {
  auto loop = scf::ForOp::create(b, op->getLoc(), math.constant(first),
                                 view(name).sizes[0], math.constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  body(index, load(name, index));
}
