//===- FmaAppend.h - New keys of an fma kernel ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOFMA_FMAAPPEND_H
#define FMHA_LIB_CONVERSION_FMHATOFMA_FMAAPPEND_H

#include "FmaKeys.h"

namespace fmha {

/// Emits copies of new keys and values to the caches. One CTA of each sequence
/// and KV head makes them. No CTA reads the copies: all read `key_new` and
/// `value_new` (FmaKeys::keyRow), so that nothing waits for the copies.
class FmaAppend : protected FmaKeys {
protected:
  using FmaKeys::FmaKeys;

  void buildAppend();

private:
  /// A token of key_new, and its position, key, in the cache.
  struct Token {
    Value number, key;
  };
  void copyRows(const std::string &cache, unsigned vectors);
  void copyVector(const std::string &cache, const Token &token, Value vector);
  void ifExists(const Token &token, mlir::function_ref<void()> body);
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOFMA_FMAAPPEND_H
