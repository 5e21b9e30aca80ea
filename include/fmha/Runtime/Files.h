//===- Files.h - Reads and writes whole files safely ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_RUNTIME_FILES_H
#define FMHA_RUNTIME_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fmha::runtime {

/// Returns an error with `message`.
llvm::Error failure(const llvm::Twine &message);

/// Returns the bytes of the file at `path` ("-" is standard input).
llvm::Expected<std::string> readFile(llvm::StringRef path);

/// Writes `bytes` to a temporary file in the folder of `path` and renames it to
/// `path`, so that readers see the old file or the new one, never a partial
/// one.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_FILES_H
