//===- OracleTest.cpp - The same results as another algebra ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/data/layout-algebra.json holds results of a layout algebra that shares
// no code with this one; Inputs/oracle.py wrote it, and FMHA_LAYOUT_ORACLE
// names another such file. Results are compared as text, except that a mode of
// one element may have any stride.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Divide.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Invert.h"
#include "fmha/Layout/Algebra/Product.h"
#include "fmha/Layout/Algebra/Recast.h"
#include "fmha/Layout/Algebra/Simplify.h"
#include "fmha/Layout/Algebra/Text.h"
#include "fmha/Layout/Algebra/TiledMma.h"

#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

using namespace fmha::layout::algebra;

namespace {

using Words = std::vector<std::string>;
using Operation = std::function<std::string(const Words &)>;

/// Returns the layout with stride 0 for each extent 1.
Layout normal(const Layout &layout) {
  if (layout.isLeaf())
    return layout.size() == 1 ? Layout() : layout;
  std::vector<Layout> modes;
  for (const Layout &mode : layout.modes())
    modes.push_back(normal(mode));
  return Layout::tuple(modes);
}

/// Returns a result in the form in which both are compared.
std::string normalText(const std::string &text) {
  return text.find(':') == text.npos ? text : normal(parseLayout(text)).str();
}

Tiler tilerOf(const std::string &text) {
  if (text == "_")
    return Tiler::byMode({{}, {}, {}});
  if (text.find(':') == text.npos)
    return Tiler::ofShape(parseIntTuple(text));
  return parseLayout(text);
}

Operation unary(Layout (*operation)(const Layout &)) {
  return [operation](const Words &words) {
    return operation(parseLayout(words[0])).str();
  };
}
Operation tiled(Layout (*operation)(const Layout &, const Tiler &)) {
  return [operation](const Words &words) {
    return operation(parseLayout(words[0]), tilerOf(words[1])).str();
  };
}
Operation binary(Layout (*operation)(const Layout &, const Layout &)) {
  return [operation](const Words &words) {
    return operation(parseLayout(words[0]), parseLayout(words[1])).str();
  };
}

constexpr int64_t halfBits = 16;

/// Reads copy, threads, values.
TiledCopy copyOf(const Words &words) {
  return TiledCopy::make(copyAtom(words[0]), halfBits, parseLayout(words[1]),
                         parseLayout(words[2]));
}
/// Reads product, atoms, permutation from word `at` on.
TiledMma mmaOf(const Words &words, size_t at = 0) {
  return {mmaAtom(words[at]), parseLayout(words[at + 1]),
          tilerOf(words[at + 2])};
}

void addAlgebra(std::map<std::string, Operation> &table) {
  table["coalesce"] = [](const Words &words) {
    Layout layout = parseLayout(words[0]);
    return (words.size() == 1 ? coalesce(layout)
                              : coalesce(layout, parseIntTuple(words[1])))
        .str();
  };
  table["filter"] = unary(filter);
  table["filter_zeros"] = unary(filterZeros);
  table["right_inverse"] = unary(rightInverse);
  table["left_inverse"] = unary(leftInverse);
  table["size"] = [](const Words &words) {
    return std::to_string(parseLayout(words[0]).size());
  };
  table["cosize"] = [](const Words &words) {
    return std::to_string(parseLayout(words[0]).cosize());
  };
  table["offset"] = [](const Words &words) {
    return std::to_string(
        parseComposedLayout(words[0])(parseIntTuple(words[1])));
  };
  table["complement"] = [](const Words &words) {
    return complement(parseLayout(words[0]), std::stoll(words[1])).str();
  };
  table["recast"] = [](const Words &words) {
    return recast(parseLayout(words[0]), std::stoll(words[1]),
                  std::stoll(words[2]))
        .str();
  };
  table["composition"] = binary(composition);
  table["blocked_product"] = binary(blockedProduct);
  table["raked_product"] = binary(rakedProduct);
  table["logical_divide"] = tiled(logicalDivide);
  table["zipped_divide"] = tiled(zippedDivide);
  table["tiled_divide"] = tiled(tiledDivide);
  table["flat_divide"] = tiled(flatDivide);
  table["logical_product"] = tiled(logicalProduct);
  table["zipped_product"] = tiled(zippedProduct);
  table["tiled_product"] = tiled(tiledProduct);
  table["flat_product"] = tiled(flatProduct);
}

void addTiled(std::map<std::string, Operation> &table) {
  table["copy_tv"] = [](const Words &words) {
    return copyOf(words).map().layout.str();
  };
  table["copy_partition"] = [](const Words &words) {
    return copyOf(words).partitionS(parseLayout(words[3]), 0).layout.str();
  };
  table["mma_threads"] = [](const Words &words) {
    return mmaOf(words).threadLayout().str();
  };
  constexpr std::pair<const char *, Operand> operands[] = {
      {"A", Operand::A}, {"B", Operand::B}, {"C", Operand::C}};
  for (auto [name, operand] : operands) {
    std::string suffix = name;
    table["mma_atom_" + suffix] = [operand](const Words &words) {
      return mmaOf(words).atom().operand(operand).str();
    };
    table["mma_tv_" + suffix] = [operand](const Words &words) {
      return mmaOf(words).map(operand).layout.str();
    };
    table["mma_partition_" + suffix] = [operand](const Words &words) {
      return mmaOf(words)
          .partition(operand, parseLayout(words[3]), 0)
          .layout.str();
    };
    auto load = [operand](const Words &words) {
      return mmaOf(words, 1).copyOf(operand, copyAtom(words[0]), halfBits);
    };
    table["load_" + suffix + "_tv"] = [load](const Words &words) {
      return load(words).map().layout.str();
    };
    table["load_" + suffix + "_partition"] = [load](const Words &words) {
      return load(words).partitionS(parseLayout(words[4]), 0).layout.str();
    };
    table["load_" + suffix + "_retile"] = [load](const Words &words) {
      return load(words).retile(parseLayout(words[5])).str();
    };
  }
}

TEST(LayoutOracle, GivesTheSameResults) {
  const char *given = std::getenv("FMHA_LAYOUT_ORACLE");
  std::string path =
      given ? given : std::string(FMHA_TEST_DATA) + "/layout-algebra.json";
  std::ifstream file(path);
  ASSERT_TRUE(file) << "cannot open " << path;
  std::map<std::string, Operation> operations;
  addAlgebra(operations);
  addTiled(operations);
  std::map<std::string, unsigned> counts;
  nlohmann::json table = nlohmann::json::parse(file);
  for (Words row : table.at("results")) {
    std::string name = row.front(), expected = row.back();
    Words words(row.begin() + 1, row.end() - 1);
    ++counts[name];
    std::string got;
    try {
      got = operations.at(name)(words);
      EXPECT_EQ(normalText(got), normalText(expected))
          << name << " of " << nlohmann::json(words);
    } catch (const std::exception &error) {
      ADD_FAILURE() << name << " of " << nlohmann::json(words) << " is "
                    << expected << ", got the error " << error.what();
    }
  }
  // Each operation has rows, so that none is dropped from the table.
  for (const auto &[name, operation] : operations)
    if (name.find("load_C") == name.npos) {
      EXPECT_GE(counts[name], 16u) << name;
    }
}

} // namespace
