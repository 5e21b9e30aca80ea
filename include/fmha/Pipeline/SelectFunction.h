//===- SelectFunction.h - One function of a module --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_SELECTFUNCTION_H
#define FMHA_PIPELINE_SELECTFUNCTION_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace fmha {

/// A module with one public function, or one that another reader judges.
struct SelectedFunction {
  std::string text;
  /// The ops of the function that are not compiled with its fmha op, and their
  /// places: "linalg.fill at x.mlir:3:8". Those that make only destinations or
  /// extents are left out.
  std::vector<std::string> ignored;
};

/// Returns `text`, named `name` in messages, with no public function but
/// `function`; if that is empty, the module has to have one at most. With
/// `mayDiffer` a single function may have another name. Returns an error that
/// lists the functions if there is no such one. Texts that are no modules are
/// returned as they are.
llvm::Expected<SelectedFunction> selectFunction(const std::string &text,
                                                const std::string &name,
                                                const std::string &function,
                                                bool mayDiffer);

} // namespace fmha

#endif // FMHA_PIPELINE_SELECTFUNCTION_H
