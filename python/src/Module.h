//===- Module.h - The parts of the extension module -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The extension fmha._native is narrow: strings, numbers and buffers go in,
// plain values come out. Checking of arguments and the shape of results that a
// user sees are Python's part.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PYTHON_SRC_MODULE_H
#define FMHA_PYTHON_SRC_MODULE_H

#include <nanobind/nanobind.h>

namespace fmha::python {

/// build_module, compile, assemble.
void bindCompile(nanobind::module_ &module);
/// run, bits.
void bindLaunch(nanobind::module_ &module);
void bindRun(nanobind::module_ &module);
/// xla_handler, workspace_bytes.
void bindJax(nanobind::module_ &module);

} // namespace fmha::python

#endif // FMHA_PYTHON_SRC_MODULE_H
