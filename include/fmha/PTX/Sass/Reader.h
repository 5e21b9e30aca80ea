//===- Reader.h - Reads the text of nvdisasm --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SASS_READER_H
#define FMHA_PTX_SASS_READER_H

#include "fmha/PTX/Sass/Program.h"

#include <stdexcept>

namespace ptxsim::sass {

/// An error in the text of nvdisasm, with its line.
class ReadError : public std::runtime_error {
public:
  ReadError(unsigned line, const std::string &message)
      : std::runtime_error("line " + std::to_string(line) +
                           " of the SASS: " + message),
        line(line) {}
  unsigned line;
};

/// Reads what `nvdisasm -c -hex` prints, with -gp also the lines of the PTX.
/// Throws ReadError.
std::vector<Function> read(std::string_view text);

/// Returns what the text says in .target; empty if it does not.
std::string targetOf(std::string_view text);

} // namespace ptxsim::sass

#endif // FMHA_PTX_SASS_READER_H
