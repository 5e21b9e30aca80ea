//===- FmaRotary.cpp - Rotated rows of an fma kernel ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaRotary.h"
#include "Threads/RotaryCode.h"

using namespace mlir;
using namespace fmha;

Value FmaRotary::rotated(Value vector, Value number, Value row, Value position,
                         Value condition) {
  if (!problem.rotates())
    return vector;
  RotaryCode code(b, problem.rotaryInterleaved, problem.rotaryDim, element,
                  all.queryElements);
  RotaryCode::Row turned = rotaryRow(position);
  turned.address = row;
  if (condition)
    turned.hasAngles = make<arith::AndIOp>(turned.hasAngles, condition);
  return code.rotated(vector, times(number, i32(all.queryElements)), turned);
}
