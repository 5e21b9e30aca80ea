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

Value FmaRotary::angleRow(const char *table, Value position) {
  Value stride = parameter(std::string(table) + "_stride_row");
  return elementAt(parameter(table), times(wide(position), stride),
                   b.getF32Type());
}

Value FmaRotary::rotated(Value vector, Value number, Value row, Value position,
                         Value condition) {
  if (!problem.rotates())
    return vector;
  RotaryCode code(b, problem.rotaryInterleaved, problem.rotaryDim, element,
                  all.queryElements);
  // An unsigned comparison: a negative position has no angles.
  Value hasAngles =
      compare(arith::CmpIPredicate::ult, position, parameter("positions"));
  if (condition)
    hasAngles = make<arith::AndIOp>(hasAngles, condition);
  return code.rotated(vector, times(number, i32(all.queryElements)),
                      {row, angleRow(angleTables[0], position),
                       angleRow(angleTables[1], position), hasAngles});
}
