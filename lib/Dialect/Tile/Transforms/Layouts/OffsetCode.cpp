//===- OffsetCode.cpp - Code for the offset of an index -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/Transforms/OffsetCode.h"
#include "fmha/Layout/Algebra/IndexTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;
using layout::algebra::ComposedLayout;
using layout::algebra::IndexTerm;
using layout::algebra::Layout;

static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}

template <typename Op>
static Value apply(ImplicitLocOpBuilder &b, Value x, int64_t number) {
  return Op::create(b, x, constant(b, number));
}

/// Moves bits of the index to those of the stride, by one shift and one mask.
static Value movedBits(ImplicitLocOpBuilder &b, const IndexTerm &term,
                       Value index) {
  int64_t shift = int64_t(llvm::Log2_64(term.divisor)) -
                  int64_t(llvm::Log2_64(term.stride));
  if (shift > 0)
    index = apply<arith::ShRUIOp>(b, index, shift);
  index = apply<arith::AndIOp>(
      b, index, (term.extent - 1) * std::min(term.divisor, term.stride));
  return shift < 0 ? apply<arith::ShLIOp>(b, index, -shift) : index;
}

static Value quotientTerm(ImplicitLocOpBuilder &b, const IndexTerm &term,
                          Value index) {
  if (term.divisor != 1)
    index = apply<arith::DivUIOp>(b, index, term.divisor);
  if (!term.isLast)
    index = apply<arith::RemUIOp>(b, index, term.extent);
  return term.stride == 1 ? index : apply<arith::MulIOp>(b, index, term.stride);
}

Value tile::offsetOf(ImplicitLocOpBuilder &b, const Layout &layout,
                     Value index) {
  if (APInt known; matchPattern(index, m_ConstantInt(&known)))
    return constant(b, layout(known.getSExtValue()));
  std::vector<IndexTerm> terms = indexTerms(layout);
  bool disjoint = areDisjointBits(terms);
  Value sum;
  for (const IndexTerm &term : llvm::reverse(terms)) {
    Value part =
        disjoint ? movedBits(b, term, index) : quotientTerm(b, term, index);
    if (!sum)
      sum = part;
    else if (disjoint)
      sum = arith::OrIOp::create(b, sum, part);
    else
      sum = arith::AddIOp::create(b, sum, part);
  }
  return sum ? sum : constant(b, 0);
}

Value tile::offsetOf(ImplicitLocOpBuilder &b, const ComposedLayout &layout,
                     Value index) {
  if (APInt known; matchPattern(index, m_ConstantInt(&known)))
    return constant(b, layout(known.getSExtValue()));
  Value sum = offsetOf(b, layout.layout, index);
  if (layout.offset)
    sum = apply<arith::AddIOp>(b, sum, layout.offset);
  const auto &swizzle = layout.swizzle;
  if (!swizzle.bits())
    return sum;
  // The bits from `first` on go to those that are `shift` lower.
  int64_t first = swizzle.base() + std::max(swizzle.shift(), 0);
  int64_t mask = ((int64_t(1) << swizzle.bits()) - 1) << first;
  Value bits = apply<arith::AndIOp>(b, sum, mask);
  bits = swizzle.shift() > 0 ? apply<arith::ShRUIOp>(b, bits, swizzle.shift())
                             : apply<arith::ShLIOp>(b, bits, -swizzle.shift());
  return arith::XOrIOp::create(b, sum, bits);
}
