//===- Layouts.h - Layouts of the tiles of a compiled kernel ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_LAYOUTS_H
#define FMHA_PIPELINE_LAYOUTS_H

#include "fmha/Layout/Print/TilePicture.h"
#include "fmha/Pipeline/Compiler.h"

#include "llvm/Support/Error.h"

namespace fmha {

/// Returns the tiles of a kernel in the order of names, each in all its places.
/// `levels` are those that compile() kept; tiles are read from the placed one.
/// A name is Q, K, V, S, P or O, as far as the kernel has that tile in memory
/// or registers. Fails for an unknown name, and without the placed level.
llvm::Expected<std::vector<layoutprint::TilePicture>>
tilesOf(const CompileResult &result, llvm::ArrayRef<std::string> names);

} // namespace fmha

#endif // FMHA_PIPELINE_LAYOUTS_H
