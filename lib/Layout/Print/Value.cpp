//===- Value.cpp - What an expression evaluates to ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Print/Value.h"

#include "fmha/Layout/Algebra/Error.h"

namespace fmha::layoutprint {

std::string kindOf(const Value &value) {
  static constexpr const char *kinds[] = {
      "integers",         "a layout",
      "a tiler",          "a copy",
      "a product",        "a tiled copy",
      "a tiled product",  "a thread-value layout",
      "a report of banks"};
  static_assert(std::size(kinds) == std::variant_size_v<Value>);
  return kinds[value.index()];
}

/// Returns the value as T, or throws.
template <typename T> static T get(const Value &value, const char *expected) {
  if (const T *found = std::get_if<T>(&value))
    return *found;
  throw LayoutError(std::string("expected ") + expected + ", got " +
                    kindOf(value));
}

IntTuple asIntTuple(const Value &value) {
  return get<IntTuple>(value, "integers, such as (4,8)");
}

int64_t asInteger(const Value &value) { return asIntTuple(value).value(); }

ComposedLayout asComposed(const Value &value) {
  if (const IntTuple *shape = std::get_if<IntTuple>(&value))
    return {Swizzle(), 0, Layout::columnMajor(*shape)};
  return get<ComposedLayout>(value, "a layout, such as (4,8):(8,1)");
}

Layout asLayout(const Value &value) {
  ComposedLayout composed = asComposed(value);
  if (composed.swizzle.bits() || composed.offset)
    throw LayoutError("expected a layout without a swizzle, got " +
                      composed.str());
  return composed.layout;
}

Tiler asTiler(const Value &value) {
  if (const IntTuple *shape = std::get_if<IntTuple>(&value))
    return Tiler::ofShape(*shape);
  if (const Tiler *tiler = std::get_if<Tiler>(&value))
    return *tiler;
  return asLayout(value);
}

CopyAtom asCopyAtom(const Value &value) {
  return get<CopyAtom>(value, "a copy, such as ldmatrix_x4");
}

MmaAtom asMmaAtom(const Value &value) {
  return get<MmaAtom>(value, "a product, such as mma_m16n8k16_f32_f16");
}

TiledCopy asTiledCopy(const Value &value) {
  return get<TiledCopy>(value, "a tiled copy, such as tiled_copy(copy_128, "
                               "(8,16):(16,1), (1,8))");
}

TiledMma asTiledMma(const Value &value) {
  if (const MmaAtom *atom = std::get_if<MmaAtom>(&value))
    return {*atom, Layout::columnMajor(IntTuple::tuple({1, 1, 1}))};
  return get<TiledMma>(value, "a tiled product, such as "
                              "tiled_mma(mma_m16n8k16_f32_f16, (4,1,1))");
}

} // namespace fmha::layoutprint
