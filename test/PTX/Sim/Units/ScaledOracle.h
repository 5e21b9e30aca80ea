//===- ScaledOracle.h - Products with scale factors by a model --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// scripts/check/scaled_oracle.py draws tiles of 128 x 8 sums of one
// instruction's K and writes what mmasim says of them. FMHA_SCALED_ORACLE names
// a folder with other tiles than the committed ones.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_UNITS_SCALEDORACLE_H
#define FMHA_TEST_PTX_SIM_UNITS_SCALEDORACLE_H

#include "MmaOracle.h"

namespace ptxsim::test {

struct ScaledTile {
  static constexpr uint32_t m = 128, n = 8;
  std::string name;
  MmaKind kind = MmaKind::MXF8F6F4;
  ElementType a = ElementType::E4M3, b = ElementType::E4M3;
  ElementType scale = ElementType::UE8M0;
  uint32_t vector = 1, k = 32;
  /// Bits of the elements: m x k, n x k, m x vector, n x vector, m x n, m x n.
  std::vector<uint32_t> left, right, scaleA, scaleB, before, after;
};

class ScaledOracle : public OracleData {
public:
  ScaledOracle()
      : OracleData(oracleFolder("FMHA_SCALED_ORACLE", "scaled-oracle")) {
    for (const nlohmann::json &tile : index["tiles"])
      tiles.push_back(tileOf(tile));
  }

  std::vector<ScaledTile> tiles;

private:
  ScaledTile tileOf(const nlohmann::json &json) const {
    ScaledTile tile;
    tile.kind = kindOf(json["kind"]);
    tile.a = typeOf(json["a"]);
    tile.b = typeOf(json["b"]);
    tile.scale = typeOf(json["scale"]);
    tile.vector = json["vector"];
    tile.k = tile.kind == MmaKind::MXF8F6F4 ? 32 : 64;
    tile.name = json.dump();
    tile.left = elements(json["offsetA"], tile.m * tile.k, 1);
    tile.right = elements(json["offsetB"], tile.n * tile.k, 1);
    tile.scaleA = elements(json["offsetScaleA"], tile.m * tile.vector, 1);
    tile.scaleB = elements(json["offsetScaleB"], tile.n * tile.vector, 1);
    tile.before = elements(json["offsetC"], tile.m * tile.n, 4);
    tile.after = elements(json["offsetD"], tile.m * tile.n, 4);
    return tile;
  }
};

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_UNITS_SCALEDORACLE_H
