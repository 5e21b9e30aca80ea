//===- TmaBoxTest.cpp - Boxes against a table, and against the tile -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/TmaBox.h"

#include "TruthTable.h"

using namespace fmha::layout;
using nlohmann::json;

static SmemTile tileOf(const json &item) {
  std::string text = item["layout"];
  size_t blank = text.find(' ');
  AtomKind kind = atomKind(text.substr(0, blank));
  return SmemTile::make(kind.major, kind.mode, item["elem_bytes"],
                        item["tile_mn"], item["tile_k"],
                        atomOrder(kind.major, text.substr(blank + 1)));
}

static std::vector<json> boxes() {
  std::vector<json> result;
  for (const json &item : readTruth("tma.json", "items"))
    if (item["kind"] == "tma_box")
      result.push_back(item);
  EXPECT_EQ(result.size(), 15u);
  return result;
}

TEST(TmaBox, EqualsTheTable) {
  for (const json &item : boxes()) {
    TmaBox box = tmaBox(tileOf(item));
    EXPECT_EQ(box.inner, item["box"][0].get<unsigned>()) << item.dump();
    EXPECT_EQ(box.outer, item["box"][1].get<unsigned>()) << item.dump();
    EXPECT_EQ(box.boxes, item["n_instr"].get<unsigned>()) << item.dump();
    EXPECT_EQ(box.bytesPerBox, item["step_elems"].get<unsigned>() *
                                   item["elem_bytes"].get<unsigned>())
        << item.dump();
  }
}

/// Writes every box as TMA would, rows at the pitch of the span, and expects
/// each element where the tile says.
static void expectBoxesFill(const SmemTile &tile) {
  TmaBox box = tmaBox(tile);
  EXPECT_EQ(box.bytes(), tile.bytes());
  unsigned written = 0;
  for (unsigned b = 0; b < box.boxes; ++b) {
    BoxOrigin origin = tmaBoxOrigin(tile, b);
    for (unsigned y = 0; y < box.outer; ++y)
      for (unsigned x = 0; x < box.inner; ++x) {
        unsigned along = origin.inner + x, over = origin.outer + y;
        unsigned mn = tile.major == Major::K ? over : along;
        unsigned k = tile.major == Major::K ? along : over;
        uint32_t linear = b * box.bytesPerBox + y * spanBytes(tile.mode) +
                          x * tile.elementBytes;
        ASSERT_LT(mn, tile.mn);
        ASSERT_LT(k, tile.k);
        EXPECT_EQ(swizzle(tile.mode, linear), tile.offset(mn, k))
            << "box " << b << " (" << x << ", " << y << ")";
        ++written;
      }
  }
  EXPECT_EQ(written, tile.mn * tile.k);
}

TEST(TmaBox, FillsTheTile) {
  for (const json &item : boxes()) {
    SCOPED_TRACE(item.dump());
    expectBoxesFill(tileOf(item));
  }
}

TEST(TmaBox, MoreRowsThanABoxMayHave) {
  for (unsigned rows : {264u, 384u, 512u, 1024u}) {
    SCOPED_TRACE(rows);
    SmemTile tile = SmemTile::make(Major::K, Swizzle::Bytes128, 2, rows, 128);
    EXPECT_LE(tmaBox(tile).outer, 256u);
    expectBoxesFill(tile);
  }
}

TEST(TmaBox, OfTheAttentionTiles) {
  TmaBox box = tmaBox(PanelTile{128, 128}.kMajor());
  EXPECT_EQ(box.rank4(), (std::array<uint32_t, 4>{64, 128, 1, 1}));
  EXPECT_EQ(box.boxes, 2u);
  EXPECT_EQ(box.bytes(), 32768u);
  EXPECT_EQ(box.swizzle, 3u);
  // V is the same bytes, read the other way.
  TmaBox values = tmaBox(PanelTile{128, 128}.mnMajor());
  EXPECT_EQ(values.rank4(), box.rank4());
  EXPECT_EQ(values.boxes, box.boxes);
}
