//===- RowPlaces.cpp - Where rows of a view lie ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fmha::tile;

Value RowPlaces::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// key = max(min(row, length - 1), 0), or with a list
/// number = list[first + min(row, length - 1)]
/// key = max(min(number, bound - 1), 0)
Value RowPlaces::keyOf(Value row) {
  Value one = index(1);
  Value last = arith::SubIOp::create(b, view.getLength(), one);
  Value inView = arith::MinSIOp::create(b, row, last);
  if (!view.getList())
    return arith::MaxSIOp::create(b, inView, index(0));
  Value place = arith::AddIOp::create(b, view.getFirst(), inView);
  Value number = arith::IndexCastOp::create(
      b, b.getIndexType(), memref::LoadOp::create(b, view.getList(), place));
  Value most = arith::SubIOp::create(b, view.getBound(), one);
  return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, number, most),
                                index(0));
}

Value RowPlaces::existingPage(Value entry) {
  Value page = arith::IndexCastOp::create(b, b.getIndexType(), entry);
  Value last = arith::SubIOp::create(
      b, memref::DimOp::create(b, view.getSource(), 0), index(1));
  return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, page, last),
                                index(0));
}

Value RowPlaces::pageOf(Value key) {
  if (!view.getPages())
    return view.getBatch();
  Value number = arith::DivUIOp::create(b, key, index(view.getPageSize()));
  Value place = arith::AddIOp::create(b, view.getEntry(), number);
  return existingPage(memref::LoadOp::create(b, view.getPages(), place));
}

Value RowPlaces::rowInPage(Value key) {
  if (!view.getPages())
    return key;
  return arith::RemUIOp::create(b, key, index(view.getPageSize()));
}
