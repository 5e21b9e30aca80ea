//===- RowCode.cpp - Addresses of rows in kernels of plain threads --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCode.h"

using namespace mlir;
using namespace fmha;

Value RowCode::rowAt(const std::string &tensor, Value batch, Value row,
                     Value head, Type element) {
  Value offset;
  const std::pair<const char *, Value> places[] = {
      {"_stride_batch", batch}, {"_stride_row", row}, {"_stride_head", head}};
  for (auto [stride, place] : places) {
    Value term = make<arith::MulIOp>(wide(place), parameter(tensor + stride));
    offset = offset ? make<arith::AddIOp>(offset, term) : term;
  }
  return elementAt(parameter(tensor), offset, element);
}
