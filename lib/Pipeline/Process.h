//===- Process.h - Programs that the compiler runs -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_PROCESS_H
#define FMHA_LIB_PIPELINE_PROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileUtilities.h"

#include <optional>
#include <string>

namespace fmha {

/// A temporary file that is removed with its owner.
struct Scratch {
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
  std::error_code error;

  explicit Scratch(llvm::StringRef suffix);
  /// Writes the whole file; sets `error` if that fails.
  void write(llvm::StringRef bytes);
  /// Returns the bytes of the file, "" if it cannot be read.
  std::string read() const;
};

/// Returns a message about the first of `files` that could not be created or
/// written, or nothing.
std::optional<std::string>
scratchProblem(llvm::ArrayRef<const Scratch *> files);

/// The exit status of a program, and the text of both of its outputs.
struct ProgramOutcome {
  int code = 0;
  std::string log;
};

/// Runs `program`, a path, with `arguments` (without its own name) and waits
/// for it.
ProgramOutcome runProgram(const std::string &program,
                          llvm::ArrayRef<std::string> arguments);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_PROCESS_H
