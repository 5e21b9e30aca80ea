//===- Tools.h - Runs ptxas and nvdisasm ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SASS_TOOLS_H
#define FMHA_PTX_SASS_TOOLS_H

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ptxsim::sass {

/// A program is missing or fails.
class ToolError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Returns the path of ptxas or nvdisasm: what the environment variable
/// FMHA_PTXAS or FMHA_NVDISASM names, else the one on the PATH, else one in the
/// folder of the other.
std::optional<std::string> findTool(const std::string &name);

/// Returns the error for ptxas or nvdisasm that is missing, with the way out,
/// or nullopt if both are found.
std::optional<std::string> describeMissingTool();

/// Returns the SASS of a cubin as Reader.h reads it, without lines of PTX.
/// Throws ToolError.
std::string disassembledCubin(const std::string &path);

/// Assembles PTX for a target and returns its SASS as Reader.h reads it, with
/// the lines of the PTX. Throws ToolError.
std::string disassembled(std::string_view ptx, const std::string &target);

} // namespace ptxsim::sass

#endif // FMHA_PTX_SASS_TOOLS_H
