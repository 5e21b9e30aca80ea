//===- Layouts.cpp - Layouts of the tiles of a compiled kernel ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Layouts.h"
#include "CompilerDialects.h"
#include "Layouts/NamedTiles.h"
#include "fmha/Layout/Algebra/PlacedTiles.h"
#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using layoutprint::TilePicture;
namespace algebra = layout::algebra;

using Facts = std::vector<std::pair<std::string, std::string>>;

namespace {

/// One tile in a kind of place, with all places that differ only in where they
/// begin.
struct Group {
  StringRef name;
  SmallVector<TileType> types;
};

} // namespace

static StringRef kindOf(TileType type) {
  return type.getSmem() ? "smem" : type.getTmem() ? "tmem" : "registers";
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Returns whether both have one layout.
static bool haveOneLayout(TileType a, TileType b) {
  auto key = [](TileType type) {
    return std::tuple(type.getShape(), type.getElementType(), kindOf(type),
                      type.getStages(), type.getStagePitch());
  };
  bool equal = key(a) == key(b);
  return equal && (a.getSmem() || a.getTmem() || a.getPlace() == b.getPlace());
}

static int64_t bitsOf(TileType type) {
  return type.getElementType().getIntOrFloatBitWidth();
}

/// Returns "0, 16384" for the places of a group.
template <typename T> static std::string join(const Group &group, T number) {
  return llvm::join(llvm::map_range(group.types,
                                    [&](TileType type) {
                                      return std::to_string(number(type));
                                    }),
                    ", ");
}

static void addStages(Facts &facts, TileType type, const char *unit) {
  if (type.getStages() > 1)
    facts.emplace_back("stages", std::to_string(type.getStages()) + ", " +
                                     std::to_string(type.getStagePitch()) +
                                     " " + unit + " apart");
}

static void describeShared(TilePicture &picture, const Group &group) {
  TileType type = group.types.front();
  const auto &layout = cast<LayoutAttr>(type.getLayout()).getValue();
  picture.layout = layout;
  picture.facts = {
      {"offset",
       join(group, [](TileType t) { return t.getSmem().getOffset(); })},
      {"bytes", std::to_string(type.getBytes())}};
  addStages(picture.facts, type, "bytes");
  // A panel of 64 columns, as the others are.
  algebra::ComposedLayout panel = algebra::panelTile(
      type.getRows(), std::min<int64_t>(type.getColumns(), 64));
  int64_t passes = algebra::bankReport(panel, 16, 128).worst();
  picture.facts.emplace_back("swizzle", layout.swizzle.str() +
                                            " of 16-bit elements, "
                                            "128 bytes");
  picture.facts.emplace_back(
      "8 rows of 16 bytes take",
      std::to_string(passes) +
          (passes == 1 ? " pass, no bank conflict" : " passes"));
}

static void describeTmem(TilePicture &picture, const Group &group) {
  TileType type = group.types.front();
  picture.layout = layoutprint::TmemLayout{
      cast<LayoutAttr>(type.getLayout()).getValue().layout, bitsOf(type)};
  picture.facts = {
      {"first column",
       join(group, [](TileType t) { return t.getTmem().getColumn(); })},
      {"columns", std::to_string(type.getTmemColumns())}};
  if (llvm::any_of(group.types,
                   [](TileType t) { return t.getTmem().getLane() != 0; }))
    picture.facts.emplace_back("first lane", join(group, [](TileType t) {
                                 return t.getTmem().getLane();
                               }));
  addStages(picture.facts, type, "columns");
}

static void describeRegisters(TilePicture &picture, const Group &group) {
  TileType type = group.types.front();
  const auto &map = cast<ThreadValuesAttr>(type.getLayout()).getValue();
  picture.layout = map;
  picture.facts = {{"threads", std::to_string(map.threads())},
                   {"values of a thread", std::to_string(map.values())},
                   {"registers of a thread",
                    std::to_string(map.values() * bitsOf(type) / 32)}};
}

static TilePicture describe(const Group &group) {
  TileType type = group.types.front();
  StringRef kind = kindOf(type);
  static const llvm::StringMap<StringRef> words = {{"smem", "shared memory"},
                                                   {"tmem", "tensor memory"},
                                                   {"registers", "registers"}};
  TilePicture picture;
  picture.name = (group.name + "_" + kind).str();
  picture.title = (group.name + ": " + std::to_string(type.getRows()) + " x " +
                   std::to_string(type.getColumns()) + " " +
                   textOf(type.getElementType()) + " in " + words.lookup(kind))
                      .str();
  if (type.getSmem())
    describeShared(picture, group);
  else if (type.getTmem())
    describeTmem(picture, group);
  else
    describeRegisters(picture, group);
  return picture;
}

/// Returns the tiles of a name, each kind of place once, or with a number if
/// its tiles have different layouts.
static void append(std::vector<TilePicture> &pictures, StringRef name,
                   const llvm::SetVector<TileType> &types) {
  SmallVector<Group> groups;
  for (TileType type : types) {
    if (!type.getPlace() || type.getShape().size() != 2)
      continue;
    auto *group = llvm::find_if(groups, [&](const Group &other) {
      return haveOneLayout(other.types.front(), type);
    });
    if (group == groups.end())
      groups.push_back({name, {type}});
    else
      group->types.push_back(type);
  }
  llvm::StringMap<int> count;
  for (const Group &group : groups) {
    TilePicture picture = describe(group);
    if (int number = ++count[picture.name]; number > 1)
      picture.name += std::to_string(number);
    pictures.push_back(std::move(picture));
  }
}

static llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Returns the tiles of the kernel in the text of the placed level.
static llvm::Expected<std::vector<TilePicture>>
readTiles(StringRef text, ArrayRef<std::string> names) {
  MLIRContext context(compilerDialects(), MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return error("cannot read the placed level");
  NamedTiles tiles = namedTiles(*module);
  if (tiles.empty())
    return error("--print-layouts: this kernel multiplies without tiles in "
                 "memory or registers; expected one of tensor cores");
  std::vector<TilePicture> pictures;
  for (StringRef name : names) {
    auto found = tiles.find(name);
    if (found == tiles.end()) {
      auto known = llvm::make_first_range(tiles);
      return error("--print-layouts: expected tiles of this kernel, " +
                   llvm::join(known, ", ") + ", got '" + name + "'");
    }
    append(pictures, name, found->second);
  }
  return pictures;
}

llvm::Expected<std::vector<TilePicture>>
fmha::tilesOf(const CompileResult &result, ArrayRef<std::string> names) {
  for (const auto &[level, text] : result.levels)
    if (level == Level::Placed)
      return readTiles(text, names);
  return error("--print-layouts reads the placed level; expected input at "
               "that level or above it, and no --compile-to above it");
}
