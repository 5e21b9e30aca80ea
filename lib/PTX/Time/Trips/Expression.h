//===- Expression.h - Numbers of a trips file -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_TRIPS_EXPRESSION_H
#define FMHA_LIB_PTX_TIME_TRIPS_EXPRESSION_H

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ptxsim::timing {

/// An expression that is malformed or names no parameter.
class ExpressionError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Returns the value of an expression of integers, names, + - * / and
/// parentheses; / rounds down. Throws ExpressionError.
int64_t valueOf(std::string_view text,
                const std::map<std::string, int64_t> &names);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_TRIPS_EXPRESSION_H
