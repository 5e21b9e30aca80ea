//===- Arguments.h - Kernel arguments given on the command line -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_ARGUMENTS_H
#define FMHA_TOOLS_PTXSIM_ARGUMENTS_H

#include "ElementType.h"
#include "MapFile.h"
#include "Npy.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <optional>

namespace ptxsim::tool {

/// One --arg, parsed and checked before a device exists.
struct Argument {
  enum class Kind { Value, In, Out, InOut, Zero, Map };
  Kind kind = Kind::Value;
  /// The text after --arg=, for messages.
  std::string text;
  /// Value: the bytes of the parameter.
  std::vector<uint8_t> value;
  /// In, InOut: contents of the buffer before the run. Out: type and shape.
  Array array;
  const ElementType *type = nullptr;
  /// Size of the buffer in bytes, and the file for its contents.
  uint64_t bytes = 0;
  std::string outputPath;
  /// Map: its description, and the file that it came from.
  std::optional<MapRequest> map;
  std::string mapPath;

  bool isBuffer() const { return kind != Kind::Value && kind != Kind::Map; }
  bool isOutput() const { return !outputPath.empty(); }
};

/// Parses one --arg. Throws BadInput.
Argument parseArgument(const std::string &text);

/// The arguments of a launch, and the parameter of each: -1 for a buffer that
/// is only accessed through tensor maps.
struct Arguments {
  std::vector<Argument> list;
  std::vector<int> parameter;
};

/// Parses all arguments and matches them with the entry's parameters, in order.
/// If there are more arguments than parameters, buffers that a tensor map names
/// are not parameters. Throws BadInput naming the parameter, expected and got.
Arguments readArguments(const std::vector<std::string> &texts,
                        const Module::Entry &entry);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_ARGUMENTS_H
