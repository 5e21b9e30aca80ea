//===- OptionText.h - Options of a run, parsed from text --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line, the environment and ptxsimSetOption use the same names for
// the same options, all of which are defined here.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_HOST_OPTIONTEXT_H
#define FMHA_PTX_HOST_OPTIONTEXT_H

#include "fmha/PTX/Sim/Simulator.h"

#include <optional>
#include <string>
#include <string_view>

namespace ptxsim {

/// Sets the option `name` (policy, seed, checks, conformance, mma, approx,
/// threads, max-steps) from its text. Returns an error with expected and got,
/// or nullopt.
std::optional<std::string> setOption(Options &options, std::string_view name,
                                     std::string_view value);

/// Returns true if `name` is an option of setOption.
bool isOption(std::string_view name);

/// Parses the whole of `text` as a number: decimal, or hexadecimal after 0x.
std::optional<uint64_t> parseUnsigned(std::string_view text);

} // namespace ptxsim

#endif // FMHA_PTX_HOST_OPTIONTEXT_H
