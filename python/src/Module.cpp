//===- Module.cpp - The extension module fmha._native -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "fmha/Version.h"
#include "llvm/Config/llvm-config.h"

NB_MODULE(_native, module) {
  module.attr("__version__") = FMHA_VERSION;
  module.attr("llvm_version") = LLVM_VERSION_STRING;
  fmha::python::bindCompile(module);
  fmha::python::bindLaunch(module);
  fmha::python::bindRun(module);
  fmha::python::bindJax(module);
}
