//===- SassRecording.h - A recording in SASS --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_SASSRECORDING_H
#define FMHA_PTX_TIME_SASSRECORDING_H

#include "fmha/PTX/Time/Recording.h"

namespace ptxsim::timing {

/// Returns the recording that the warps would have made with the SASS of the
/// same kernel, whose instructions have lines of the PTX. Copies, products,
/// arrivals and waits are those of the PTX, in their order; loads and stores
/// reach the memory that those of their line reached. Throws Error::Launch if
/// SASS and PTX do not correspond.
Recording inSass(const Recording &recording, sass::Function function);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_SASSRECORDING_H
