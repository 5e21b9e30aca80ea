//===- PrintLayouts.cpp - --print-layouts ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintLayouts.h"
#include "fmha/Layout/Print/Output.h"
#include "fmha/Pipeline/Layouts.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace fmha;
using namespace fmha::tools;
using fmha::runtime::failure;

namespace {

/// A format: the end of a file's name, and the document of a tile.
struct Format {
  llvm::StringRef name, extension;
  std::string (*write)(const layoutprint::TilePicture &tile);
};

} // namespace

static const Format formats[] = {
    {"text", ".txt", layoutprint::definitionOf},
    {"svg", ".svg",
     [](const layoutprint::TilePicture &tile) {
       return layoutprint::svgOf(pictureOf(tile));
     }},
    {"latex", ".tex", [](const layoutprint::TilePicture &tile) {
       return layoutprint::latexOf(pictureOf(tile));
     }}};

static llvm::Error writeFiles(const CompileFlags &flags, const Format &format,
                              llvm::ArrayRef<layoutprint::TilePicture> tiles) {
  // The parent must exist, as for -o: a misspelled path creates no folders.
  if (std::error_code code = llvm::sys::fs::create_directory(flags.layoutsTo))
    return failure("cannot create '" + flags.layoutsTo +
                   "': " + code.message());
  for (const layoutprint::TilePicture &tile : tiles) {
    llvm::SmallString<256> path(flags.layoutsTo);
    llvm::sys::path::append(path, tile.name + format.extension);
    if (llvm::Error error = runtime::writeFile(path, format.write(tile)))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error fmha::tools::printLayouts(const CompileFlags &flags,
                                      const CompileResult &result) {
  auto tiles = tilesOf(result, flags.layouts);
  if (!tiles)
    return tiles.takeError();
  const Format &format = *llvm::find_if(formats, [&](const Format &other) {
    return other.name == flags.layoutFormat;
  });
  if (!flags.layoutsTo.empty())
    return writeFiles(flags, format, *tiles);
  if (flags.layoutFormat != "text" && tiles->size() > 1) {
    std::string names;
    for (const layoutprint::TilePicture &tile : *tiles)
      names += (names.empty() ? "" : ", ") + tile.name;
    return failure("--print-layouts-format=" + flags.layoutFormat +
                   ": expected one picture, or --print-layouts-to=DIR, got " +
                   names);
  }
  for (const layoutprint::TilePicture &tile : *tiles)
    llvm::outs() << format.write(tile);
  return llvm::Error::success();
}
