//===- MapFile.h - Tensor maps described in JSON ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_MAPFILE_H
#define FMHA_TOOLS_PTXSIM_MAPFILE_H

#include "fmha/PTX/Sim/Units/TensorMap.h"

#include <string>
#include <variant>
#include <vector>

namespace ptxsim::tool {

/// A tensor map before its address is known.
struct MapRequest {
  std::variant<TiledParams, Im2colParams> params;
  /// Index of the buffer that it describes, counted over the in, out, inout and
  /// zero arguments from 0, and the offset into it in bytes.
  unsigned tensor = 0;
  uint64_t offset = 0;
};

/// Reads the arguments of cuTensorMapEncodeTiled, or of cuTensorMapEncodeIm2col
/// if pixelsPerColumn is given, by the names of the driver's manual. Enums are
/// numbers or names. Throws BadInput naming the file and the key.
MapRequest readMapFile(const std::string &path);

/// Returns the 128 bytes of the map at `address`, with the limits of a device
/// of capability `cc`. Throws BadInput with the violation.
std::vector<uint8_t> encode(const MapRequest &request, uint64_t address,
                            unsigned cc, const std::string &path);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_MAPFILE_H
