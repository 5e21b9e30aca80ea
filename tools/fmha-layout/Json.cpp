//===- Json.cpp - Pictures as JSON ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "fmha/Layout/Print/Output.h"

#include <nlohmann/json.hpp>

using namespace fmha::layoutprint;

static constexpr int schemaVersion = 1;

std::string fmha::layouttool::jsonOf(const Picture &picture) {
  using Json = nlohmann::ordered_json;
  Json facts = Json::object(), grids = Json::array();
  for (const auto &[name, value] : picture.facts)
    facts[name] = value;
  for (const Grid &grid : picture.grids) {
    Json rows = Json::array();
    for (int64_t row = 0; row < grid.rows; ++row) {
      Json words = Json::array();
      for (int64_t column = 0; column < grid.columns; ++column)
        words.push_back(wordOf(grid.at(row, column)));
      rows.push_back(std::move(words));
    }
    grids.push_back({{"title", grid.title},
                     {"cells", grid.legend},
                     {"rows", std::move(rows)}});
  }
  Json json = {{"schema_version", schemaVersion},
               {"title", picture.title},
               {"facts", std::move(facts)},
               {"grids", std::move(grids)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}
