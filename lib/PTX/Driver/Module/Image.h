//===- Image.h - Module images passed by a host -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_MODULE_IMAGE_H
#define FMHA_LIB_PTX_DRIVER_MODULE_IMAGE_H

#include "State/DriverTypes.h"

#include <string>

namespace ptxsim::driver {

struct Image {
  CUresult result = CUDA_SUCCESS;
  std::string text;
  std::string why;
};

/// Returns the PTX text in an image: NUL-terminated text, or a fatbin with
/// uncompressed PTX. Otherwise returns the driver's result and the reason:
/// NO_BINARY_FOR_GPU for a cubin, INVALID_IMAGE for bytes that are not an
/// image.
Image readImage(const void *image);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_MODULE_IMAGE_H
