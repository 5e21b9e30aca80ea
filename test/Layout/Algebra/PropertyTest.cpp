//===- PropertyTest.cpp - Random layouts and definitions ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation is compared with its definition, index by index, on layouts
// that are drawn at random. FMHA_TEST_SEED=N repeats the draw of a failure.
//
//===----------------------------------------------------------------------===//

#include "RandomLayouts.h"
#include "fmha/Layout/Algebra/Divide.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Invert.h"
#include "fmha/Layout/Algebra/Product.h"
#include "fmha/Layout/Algebra/Recast.h"
#include "fmha/Layout/Algebra/Simplify.h"
#include "fmha/Layout/Algebra/Text.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <set>

using namespace fmha::layout::algebra;

namespace {

/// Layouts of each test: few under the sanitizers, else 20000, together 160000.
constexpr unsigned draws = FMHA_LAYOUT_DRAWS;

/// Calls `check` with a fresh generator for each layout. `check` returns true
/// if there was something to compare.
template <typename Check> void forRandom(unsigned least, const Check &check) {
  unsigned compared = 0;
  for (uint32_t i = 0, seed = firstSeed(); i < draws; ++i) {
    SCOPED_TRACE("FMHA_TEST_SEED=" + std::to_string(seed + i));
    Draw draw(seed + i);
    compared += check(draw);
    if (testing::Test::HasFailure())
      return;
  }
  // A single seed that is repeated may have nothing to compare.
  if (!std::getenv("FMHA_TEST_SEED")) {
    EXPECT_GE(compared, least);
  }
  testing::Test::RecordProperty("compared", int(compared));
}

std::vector<int64_t> imageOf(const Layout &layout) {
  std::vector<int64_t> image(layout.size());
  for (int64_t i = 0; i < layout.size(); ++i)
    image[i] = layout(i);
  return image;
}

TEST(LayoutProperty, TextIsReadAsItIsPrinted) {
  forRandom(draws, [](Draw &draw) {
    Layout layout = draw.any(draw.shape());
    EXPECT_EQ(parseLayout(layout.str()), layout);
    int64_t i = draw.below(layout.size());
    IntTuple at = idx2crd(i, layout.shape());
    EXPECT_EQ(crd2idx(at, layout.shape()), i);
    EXPECT_EQ(layout(at), layout(i)) << layout.str() << " at " << at.str();
    return true;
  });
}

TEST(LayoutProperty, CoalesceAndFilterKeepTheMap) {
  forRandom(draws, [](Draw &draw) {
    Layout layout = draw.any(draw.shape());
    Layout simple = coalesce(layout);
    EXPECT_EQ(imageOf(simple), imageOf(layout)) << layout.str();
    EXPECT_LE(simple.depth(), 1u);
    if (!layout.isLeaf()) {
      std::vector<IntTuple> leaves(layout.rank(), 1);
      Layout byMode = coalesce(layout, IntTuple::tuple(leaves));
      EXPECT_EQ(imageOf(byMode), imageOf(layout)) << layout.str();
      EXPECT_EQ(productEach(byMode.shape()), productEach(layout.shape()));
    }
    auto image = imageOf(layout), filtered = imageOf(filter(layout));
    EXPECT_EQ(std::set(filtered.begin(), filtered.end()),
              std::set(image.begin(), image.end()))
        << layout.str();
    return true;
  });
}

TEST(LayoutProperty, CompositionIsTheMapOfTheMap) {
  forRandom(draws / 4, [](Draw &draw) {
    Layout a = draw.any(draw.shape()), b = draw.injective(draw.shape(2), 2);
    std::optional<Layout> both;
    try {
      both = composition(a, b);
    } catch (const LayoutError &) {
      return false;
    }
    if (!b.isLeaf()) {
      EXPECT_EQ(productEach(both->shape()), productEach(b.shape()));
    }
    std::vector<int64_t> expected = imageOf(b);
    for (int64_t &offset : expected)
      offset = a(offset);
    EXPECT_EQ(imageOf(*both), expected) << a.str() << " o " << b.str();
    return true;
  });
}

/// Compares with the definition: each integer below the cotarget is the sum of
/// one offset of the layout and one of the complement, in one way.
TEST(LayoutProperty, ComplementFillsTheGaps) {
  forRandom(draws, [](Draw &draw) {
    Layout layout = draw.injective(draw.shape(), 3);
    int64_t cotarget = 1 + draw.below(2 * layout.cosize());
    Layout rest = complement(layout, cotarget);
    std::vector<int64_t> sums, offsets = imageOf(layout),
                               starts = imageOf(rest);
    EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end())) << layout.str();
    for (int64_t start : starts)
      for (int64_t offset : offsets)
        sums.push_back(start + offset);
    std::sort(sums.begin(), sums.end());
    EXPECT_EQ(std::adjacent_find(sums.begin(), sums.end()), sums.end())
        << layout.str() << " has an offset twice";
    EXPECT_GE(int64_t(sums.size()), cotarget);
    EXPECT_EQ(sums[cotarget - 1], cotarget - 1) << layout.str();
    return true;
  });
}

TEST(LayoutProperty, InversesUndoTheMap) {
  forRandom(draws, [](Draw &draw) {
    Layout layout = draw.injective(draw.shape(), 3);
    Layout right = rightInverse(layout), left = leftInverse(layout);
    bool undone = true;
    for (int64_t i = 0; i < right.size(); ++i)
      undone &= layout(right(i)) == i;
    EXPECT_TRUE(undone) << layout.str() << ", right inverse " << right.str();
    for (int64_t i = 0; i < layout.size(); ++i)
      undone &= left(layout(i)) == i;
    EXPECT_TRUE(undone) << layout.str() << ", left inverse " << left.str();
    Layout dense = draw.injective(layout.shape(), 1);
    EXPECT_EQ(rightInverse(dense).size(), dense.size()) << dense.str();
    return true;
  });
}

TEST(LayoutProperty, DivisionsAreTilesAndTheirRests) {
  forRandom(draws / 4, [](Draw &draw) {
    Layout layout = draw.any(draw.shape());
    Layout tile = draw.injective(draw.shape(2), 2);
    std::optional<Layout> divided;
    try {
      divided = logicalDivide(layout, tile);
    } catch (const LayoutError &) {
      return false;
    }
    Layout rest = complement(tile, layout.size());
    for (int64_t r = 0; r < rest.size(); ++r)
      for (int64_t t = 0; t < tile.size(); ++t)
        EXPECT_EQ((*divided)(IntTuple::tuple({t, r})),
                  layout(tile(t) + rest(r)))
            << layout.str() << " / " << tile.str();
    // The other forms have the same modes in another order.
    EXPECT_EQ(zippedDivide(layout, tile), *divided);
    EXPECT_EQ(imageOf(tiledDivide(layout, tile)), imageOf(*divided));
    EXPECT_EQ(imageOf(flatDivide(layout, tile)), imageOf(*divided));
    return true;
  });
}

/// Checks where element b of repetition t of the block lies: in a blocked
/// product a block stays together, in a raked one it spreads.
void expectMatrixProducts(const Layout &block, const Layout &tiler, int64_t b,
                          int64_t t, int64_t expected) {
  IntTuple inBlock = idx2crd(b, productEach(block.shape())),
           inTiler = idx2crd(t, productEach(tiler.shape()));
  std::vector<IntTuple> near, far;
  for (size_t i = 0; i < block.rank(); ++i) {
    int64_t x = inBlock.mode(i).value(), y = inTiler.mode(i).value();
    near.push_back(x + y * block.size(i));
    far.push_back(y + x * tiler.size(i));
  }
  EXPECT_EQ(blockedProduct(block, tiler)(IntTuple::tuple(near)), expected);
  EXPECT_EQ(rakedProduct(block, tiler)(IntTuple::tuple(far)), expected);
}

TEST(LayoutProperty, ProductsRepeatTheBlock) {
  forRandom(draws / 2, [](Draw &draw) {
    Layout block = draw.injective(draw.shape(2), 2);
    Layout tiler = draw.injective(draw.shape(2), 2);
    std::optional<Layout> both;
    try {
      both = logicalProduct(block, tiler);
    } catch (const LayoutError &) {
      return false;
    }
    EXPECT_EQ(both->mode(0), block);
    EXPECT_TRUE(isInjective(*both)) << block.str() << " x " << tiler.str();
    Layout rest = complement(block, block.size() * tiler.cosize());
    EXPECT_EQ(imageOf(both->mode(1)), imageOf(composition(rest, tiler)));
    if (block.rank() != tiler.rank() || block.isLeaf() || tiler.isLeaf())
      return true;
    int64_t b = draw.below(block.size()), t = draw.below(tiler.size());
    expectMatrixProducts(block, tiler, b, t, block(b) + rest(tiler(t)));
    return true;
  });
}

TEST(LayoutProperty, DowncastUndoesUpcast) {
  forRandom(draws / 8, [](Draw &draw) {
    Layout layout = draw.injective(draw.shape(), 2);
    int64_t factor = draw.oneOf({2, 4, 8});
    std::optional<Layout> wide;
    try {
      wide = upcast(layout, factor);
    } catch (const LayoutError &) {
      return false;
    }
    // The containers are those of the elements.
    std::set<int64_t> containers;
    for (int64_t offset : imageOf(layout))
      containers.insert(offset / factor);
    auto image = imageOf(*wide);
    EXPECT_EQ(std::set(image.begin(), image.end()), containers) << layout.str();
    return true;
  });
}

} // namespace
