//===- Registry.h - The table of scalar forms -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hash map from the text of an opcode to its form, filled once by one
// function per family. Qualifiers in a different order than the manual's are
// also found: a second key sorts the words that are not types.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_SCALAR_REGISTRY_H
#define FMHA_LIB_PTX_SIM_SCALAR_REGISTRY_H

#include "fmha/PTX/Sim/Scalar/Scalar.h"

#include <initializer_list>
#include <string>
#include <unordered_map>

namespace ptxsim::scalar {

class Registry {
public:
  /// Adds `form` under `opcode`; the first entry for an opcode is kept.
  void add(const std::string &opcode, const Form &form);
  const Form *find(std::string_view opcode) const;
  /// Calls visit(opcode, form) for every entry.
  template <typename F> void forEach(F visit) const {
    for (const auto &[opcode, form] : exact)
      visit(opcode, form);
  }

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Map = std::unordered_map<std::string, Form, Hash, std::equal_to<>>;
  Map exact, sorted;
};

/// Returns the type's name in PTX, "f16x2", or empty for Type::None.
std::string_view nameOf(Type type);

/// Returns "a.b.c" of the words that are not empty.
std::string joinWords(std::initializer_list<std::string_view> words);

/// Returns a form whose operands are all required.
Form makeForm(Function function, std::initializer_list<Type> dst,
              std::initializer_list<Type> src);

} // namespace ptxsim::scalar

#endif // FMHA_LIB_PTX_SIM_SCALAR_REGISTRY_H
