//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_NPY_H
#define FMHA_TOOLS_PTXSIM_NPY_H

#include "ElementType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptxsim::tool {

/// An array in memory: C order, little endian.
struct Array {
  /// NumPy's type string without byte order, for example "f4", "u1", "V2".
  std::string dtype;
  std::vector<uint64_t> shape;
  std::vector<uint8_t> bytes;
};

/// Reads a .npy file (format versions 1 to 3). Throws BadInput, naming the
/// file, if it is malformed, big-endian, in Fortran order, or not of a plain
/// number type.
Array readNpy(const std::string &path);

/// Returns the bytes of a .npy file of version 1.0.
std::string npyText(const Array &array);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_NPY_H
