//===- CheckedText.cpp - Text of layouts, without exceptions --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/CheckedText.h"

#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Simplify.h"
#include "fmha/Layout/Algebra/Text.h"

#include <algorithm>

namespace fmha::layout::algebra {
namespace {

/// The largest tile of a thread-value layout, all of whose elements are
/// visited.
constexpr int64_t mostElements = 1 << 20;

/// Returns what `read` returns. An error without a position is one of the
/// part that begins at `part`.
template <typename T, typename Read>
Checked<T> checked(std::string_view text, Read read) {
  Reader reader(text);
  size_t part = 0;
  try {
    T value = read(reader, part);
    if (!reader.atEnd())
      reader.fail("the end");
    return {std::move(value), "", 0};
  } catch (const TextError &error) {
    return {std::nullopt, error.reason, error.position};
  } catch (const LayoutError &error) {
    return {std::nullopt, error.what(), part};
  }
}

/// Reads a comma, and returns the position of what follows.
size_t nextPart(Reader &reader) {
  reader.expect(",");
  return reader.position();
}

/// Reads _, an extent, or a layout.
Tiler readTiler(Reader &reader) {
  Reader rest = reader;
  if (rest.word() == "_") {
    reader.expect("_");
    return Tiler();
  }
  IntTuple shape = reader.intTuple();
  if (reader.startsWith(":"))
    return reader.layoutOf(shape);
  return Tiler::ofShape(shape);
}

Tiler readPermutation(Reader &reader) {
  reader.expect("(");
  std::vector<Tiler> tilers;
  do
    tilers.push_back(readTiler(reader));
  while (reader.accept(","));
  reader.expect(")");
  return Tiler::byMode(std::move(tilers));
}

ThreadValue readMap(Reader &reader, size_t &part) {
  part = reader.position();
  Layout layout = reader.layout();
  if (layout.isLeaf() || layout.rank() != 2)
    throw LayoutError("expected a layout of threads and values, such as "
                      "(32,2):(2,1), got " +
                      layout.str());
  part = nextPart(reader);
  return {layout, reader.intTuple()};
}

/// Returns a thread that holds an element twice.
std::optional<int64_t> repeats(const std::vector<Owner> &owners) {
  for (size_t n = 1; n < owners.size(); ++n)
    if (owners[n].thread == owners[n - 1].thread)
      return owners[n].thread;
  return std::nullopt;
}

void expectDistribution(const ThreadValue &map) {
  for (int64_t extent : map.tile.leaves())
    if (extent < 1)
      throw LayoutError("expected extents of at least 1, got the tile " +
                        map.tile.str());
  if (product(map.tile) > mostElements)
    throw LayoutError("expected a tile of at most " +
                      std::to_string(mostElements) + " elements, got " +
                      map.tile.str());
  std::vector<std::vector<Owner>> owners = ownersOf(map);
  auto nameOf = [&](size_t at) { return idx2crd(int64_t(at), map.tile).str(); };
  for (size_t at = 0; at < owners.size(); ++at) {
    if (owners[at].empty())
      throw LayoutError("expected an owner of each element of " +
                        map.tile.str() + ", got none of " + nameOf(at));
    if (auto thread = repeats(owners[at]))
      throw LayoutError("expected no thread to hold an element twice, got " +
                        nameOf(at) + " twice in thread " +
                        std::to_string(*thread));
  }
}

} // namespace

Checked<ComposedLayout> readLayout(std::string_view text) {
  return checked<ComposedLayout>(text, [](Reader &reader, size_t &) {
    ComposedLayout layout = reader.composedLayout();
    // One text for what exchanges no bits.
    if (!layout.swizzle.bits())
      layout.swizzle = Swizzle();
    return layout;
  });
}

Checked<ThreadValue> readThreadValue(std::string_view text) {
  return checked<ThreadValue>(text, [](Reader &reader, size_t &part) {
    ThreadValue map = readMap(reader, part);
    part = 0;
    expectDistribution(map);
    return map;
  });
}

Checked<TiledCopy> readTiledCopy(std::string_view text) {
  return checked<TiledCopy>(text, [](Reader &reader, size_t &part) {
    CopyAtom atom = copyAtom(reader.word());
    size_t begin = nextPart(reader);
    ThreadValue map = readMap(reader, part);
    part = begin;
    constexpr int64_t usual = 16;
    int64_t bits = usual;
    if (reader.startsWith(",")) {
      part = nextPart(reader);
      bits = reader.integer();
    }
    TiledCopy copy(std::move(atom), bits, std::move(map));
    part = begin;
    expectDistribution(copy.map());
    return copy;
  });
}

Checked<TiledMma> readTiledMma(std::string_view text) {
  return checked<TiledMma>(text, [](Reader &reader, size_t &part) {
    MmaAtom atom = mmaAtom(reader.word());
    part = nextPart(reader);
    Layout groups = reader.layout();
    if (reader.atEnd())
      return TiledMma(std::move(atom), groups);
    // Until the comma, what is wrong is the groups.
    nextPart(reader);
    return TiledMma(std::move(atom), groups, readPermutation(reader));
  });
}

std::optional<std::string> whyNoDistribution(const ThreadValue &map) {
  try {
    expectDistribution(map);
    return std::nullopt;
  } catch (const LayoutError &error) {
    return error.what();
  }
}

bool isSameMap(const ThreadValue &a, const ThreadValue &b) {
  if (a.tile != b.tile || a.threads() != b.threads() ||
      a.values() != b.values())
    return false;
  IntTuple byMode = IntTuple::tuple({1, 1});
  return coalesce(a.layout, byMode) == coalesce(b.layout, byMode);
}

} // namespace fmha::layout::algebra
