//===- Json.h - Pictures as JSON --------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_FMHA_LAYOUT_JSON_H
#define FMHA_TOOLS_FMHA_LAYOUT_JSON_H

#include "fmha/Layout/Print/Picture.h"

namespace fmha::layouttool {

/// Returns a document that ends with a newline.
std::string jsonOf(const layoutprint::Picture &picture);

} // namespace fmha::layouttool

#endif // FMHA_TOOLS_FMHA_LAYOUT_JSON_H
