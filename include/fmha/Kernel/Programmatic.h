//===- Programmatic.h - Kernels that may start early ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that executes griddepcontrol.wait before it accesses memory may be
// launched with the programmatic attribute: it then starts before the previous
// grid of the stream has ended. A manifest has `"programmatic": true`. A launch
// by gpu.launch_func has no such attribute, so the module of the kernel has a
// variable with this prefix and the name of the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_KERNEL_PROGRAMMATIC_H
#define FMHA_KERNEL_PROGRAMMATIC_H

namespace fmha {

inline constexpr const char programmaticPrefix[] = "__fmha_programmatic_";

} // namespace fmha

#endif // FMHA_KERNEL_PROGRAMMATIC_H
