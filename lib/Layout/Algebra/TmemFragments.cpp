//===- TmemFragments.cpp - Registers of tcgen05.ld and .st ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05 data movement shapes.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/TmemFragments.h"

#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Text.h"

namespace fmha::layout::algebra {
namespace {

constexpr int64_t mostRegisters = 128;

/// A shape with .xN; N stands last in the extents of values.
struct Shape {
  const char *name;
  int64_t lanes, columns, registers;
  const char *threads, *values, *strides;
};
constexpr Shape shapes[] = {
    {"32x32b", 32, 1, 1, "32", "", "(1,32)"},
    {"16x64b", 16, 2, 1, "(2,2,8)", "", "((8,16,1),32)"},
    {"16x128b", 16, 4, 2, "(4,8)", "(2,", "((16,1),(8,64))"},
    {"16x256b", 16, 8, 4, "(4,8)", "(2,2,", "((32,1),(16,8,128))"},
};

std::string nameOf(const Shape &shape, int64_t num) {
  return std::string("tcgen05_ld_") + shape.name + "_x" + std::to_string(num);
}

ThreadValue fragmentOf(const Shape &shape, int64_t num) {
  std::string values = shape.values + std::to_string(num);
  values += *shape.values ? ")" : "";
  return {parseLayout("(" + std::string(shape.threads) + "," + values +
                      "):" + shape.strides),
          IntTuple::tuple({shape.lanes, shape.columns * num})};
}

} // namespace

std::vector<std::string> tmemFragmentNames() {
  std::vector<std::string> names;
  for (const Shape &shape : shapes)
    for (int64_t num = 1; num * shape.registers <= mostRegisters; num *= 2)
      names.push_back(nameOf(shape, num));
  return names;
}

ThreadValue tmemFragment(std::string_view name) {
  for (const Shape &shape : shapes)
    for (int64_t num = 1; num * shape.registers <= mostRegisters; num *= 2)
      if (name == nameOf(shape, num))
        return fragmentOf(shape, num);
  throw LayoutError("expected a fragment such as tcgen05_ld_32x32b_x8, of the "
                    "shapes 32x32b, 16x64b, 16x128b and 16x256b and x1 to "
                    "x128, got '" +
                    std::string(name) + "'");
}

} // namespace fmha::layout::algebra
