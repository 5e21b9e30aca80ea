//===- Bind.cpp - Handlers of XLA's custom calls for Python ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Module.h"
#include "Call.h"

#include "fmha/Runtime/Launch/Manifest.h"
#include "fmha/Runtime/Launch/Values.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <stdexcept>

namespace nb = nanobind;
using namespace fmha;

static jax::abi::Error *answerOnHost(jax::abi::CallFrame *frame) {
  return jax::answer(frame, jax::runOnHost);
}

static jax::abi::Error *answerOnDevice(jax::abi::CallFrame *frame) {
  return jax::answer(frame, jax::launchOnDevice);
}

/// Returns the handler for a platform of XLA.
static nb::capsule xlaHandler(const std::string &platform) {
  if (platform != "cpu" && platform != "CUDA")
    throw nb::value_error(
        ("platform: expected 'cpu' or 'CUDA', got '" + platform + "'").c_str());
  auto *handler = platform == "cpu" ? answerOnHost : answerOnDevice;
  return nb::capsule(reinterpret_cast<void *>(handler));
}

/// Returns the bytes of the workspace of a launch whose output is [batch,
/// length, heads, dim].
static uint64_t workspaceBytes(const std::string &text,
                               const std::array<int64_t, 4> &out) {
  std::string problem;
  std::optional<launch::Manifest> manifest =
      launch::parseManifest(text, problem);
  if (!manifest)
    throw nb::value_error(("manifest: " + problem).c_str());
  uint64_t bytes = manifest->tileCounter ? launch::tileCounterBytes : 0;
  if (manifest->combine)
    bytes += launch::partsAt(0, manifest->splits, out).bytes;
  return bytes;
}

void python::bindJax(nb::module_ &module) {
  module.def("xla_handler", &xlaHandler, nb::arg("platform"));
  module.def("workspace_bytes", &workspaceBytes, nb::arg("manifest"),
             nb::arg("out_shape"));
}
