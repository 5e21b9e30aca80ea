//===- OperandRules.cpp - Rules that several ops share --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandRules.h"

using namespace mlir;
using namespace fmha;

LogicalResult fmha::verifyWithout(StringRef clause, ArrayRef<Excluded> others,
                                  EmitError error) {
  for (const Excluded &other : others)
    if (other.isThere)
      return error() << "expected no " << other.name << " with " << clause
                     << ", got one; " << other.wayOut;
  return success();
}

LogicalResult fmha::verifyAnglePresence(bool hasRotary, Value cos, Value sin,
                                        EmitError error) {
  for (auto [name, angles] : {std::pair("cos", cos), {"sin", sin}}) {
    if (bool(angles) == hasRotary)
      continue;
    if (hasRotary)
      return error() << "expected " << name << " with rotary, got none; add "
                     << name << ", or remove rotary";
    return error() << "expected " << name << " only with rotary, got " << name
                   << " alone; add rotary, or remove " << name;
  }
  return success();
}

LogicalResult fmha::verifyAngleColumns(StringRef name, ShapedType type,
                                       int64_t headDim, EmitError error) {
  int64_t columns = type.getDimSize(1), most = headDim / 2;
  if (!ShapedType::isDynamic(columns) && columns >= 1 && columns <= most)
    return success();
  return error() << "expected a static number of columns of " << name
                 << ", from 1 to " << most << ", half of the head dim, got "
                 << type;
}
