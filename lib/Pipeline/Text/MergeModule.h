//===- MergeModule.h - A module with one fmha.merge -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_MERGEMODULE_H
#define FMHA_LIB_PIPELINE_MERGEMODULE_H

#include "fmha/Pipeline/Compiler.h"

namespace fmha {

/// Returns the text of a module with one fmha.merge of memrefs whose extents
/// are dynamic.
std::string mergeModule(const MergeSpec &spec);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_MERGEMODULE_H
