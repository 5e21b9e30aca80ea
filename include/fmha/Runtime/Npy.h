//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes NumPy's .npy format, versions 1.0, 2.0 and 3.0 (NEP 1):
// "\x93NUMPY", version, header length, a Python dict literal, then the elements
// in C order. Only little-endian arrays of numbers in C order are supported;
// errors report what was expected and what was found.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_NPY_H
#define FMHA_RUNTIME_NPY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fmha::runtime {

enum class NpyType {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  F32,
  F64
};

/// Returns NumPy's name of the type, for example "float32".
llvm::StringRef nameOf(NpyType type);
/// Returns the spelling of the type in a header, for example "<f4".
llvm::StringRef descrOf(NpyType type);
/// Returns the size of an element in bytes.
size_t sizeOf(NpyType type);

struct NpyArray {
  NpyType type = NpyType::F32;
  std::vector<int64_t> shape;
  /// The elements in C order, sizeOf(type) bytes each.
  std::string data;

  /// Returns the product of the extents, 1 for a scalar.
  int64_t elementCount() const;
};

/// Returns a shape as NumPy prints it, for example "(2, 3)".
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// Parses the bytes of a .npy file; messages name it `name`.
llvm::Expected<NpyArray> parseNpy(llvm::StringRef bytes, llvm::StringRef name);
/// Reads and parses the file at `path`.
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

/// Returns the bytes of a version 1.0 file (2.0 if the header is too long for
/// 1.0).
std::string formatNpy(const NpyArray &array);
/// Writes `array` to `path` by renaming a temporary file, so that no partial
/// file is left.
llvm::Error writeNpy(llvm::StringRef path, const NpyArray &array);

/// Returns the elements of a float32 or float16 array as floats. Fails for
/// other types; the message names `name`.
llvm::Expected<std::vector<float>> toFloats(const NpyArray &array,
                                            llvm::StringRef name);
/// Returns a float32 array of this shape with these elements.
NpyArray fromFloats(std::vector<int64_t> shape, llvm::ArrayRef<float> values);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_NPY_H
