//===- RowCode.cpp - Addresses of rows in kernels of plain threads --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCode.h"
#include "fmha/Schedule/Model/Lists.h"

using namespace mlir;
using namespace fmha;

Value fmha::offsetOfRow(ImplicitLocOpBuilder &b, ArrayRef<Value> row,
                        ArrayRef<Value> strides) {
  Value offset;
  for (auto [place, stride] : llvm::zip_equal(row, strides)) {
    Value wide = arith::ExtUIOp::create(b, b.getI64Type(), place);
    Value term = arith::MulIOp::create(b, wide, stride);
    offset = offset ? arith::AddIOp::create(b, offset, term) : term;
  }
  return offset;
}

Value RowCode::rowAt(const std::string &tensor, Value batch, Value row,
                     Value head, Type element) {
  auto strides =
      llvm::map_to_vector(schedule::outputStrides, [&](const char *stride) {
        return parameter(tensor + stride);
      });
  return elementAt(parameter(tensor),
                   offsetOfRow(b, {batch, row, head}, strides), element);
}

RotaryCode::Row RowCode::rotaryRow(Value position) {
  auto strideOf = [&](const char *table) {
    return parameter(std::string(table) + "_stride_row");
  };
  return rowOfAngles(b,
                     {parameter(angleTables[0]), parameter(angleTables[1]),
                      strideOf(angleTables[0]), strideOf(angleTables[1]),
                      parameter("positions")},
                     position);
}
