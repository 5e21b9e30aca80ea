//===- KeyCode.h - Places of the keys that threads read ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_TILETONVVM_KEYCODE_H
#define FMHA_LIB_CONVERSION_TILETONVVM_KEYCODE_H

#include "NumberCode.h"

#include "mlir/IR/BuiltinTypes.h"

namespace fmha {

/// The lists that name the rows of a view and their pages; null if there are
/// none. `list` and `pages` are pointers, the others of type index.
struct KeyLists {
  mlir::Value list, first, bound, pages, entry;

  template <typename OpTy>
  static KeyLists of(OpTy op, typename OpTy::Adaptor adaptor) {
    return {adaptor.getList(), op.getFirst(), op.getBound(), adaptor.getPages(),
            op.getEntry()};
  }
};

/// Emits the key and the page of a row of a view of `source`, which `op` reads.
class KeyCode : protected NumberCode {
protected:
  KeyCode(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
          mlir::Value source, const KeyLists &lists)
      : NumberCode(b), reader(op),
        sourceType(llvm::cast<mlir::MemRefType>(source.getType())),
        lists(lists) {}

  /// Returns the number of the last of `length` rows, 0 if there are none.
  mlir::Value lastOf(mlir::Value length);
  /// Returns the key of row `row`, which must be in the view: `row` itself, or
  /// the clamped entry of the list, since lists may be invalid:
  ///   clamp(list[first + row], 0, bound - 1)
  mlir::Value listed(mlir::Value row);
  /// Returns the page of `key`, in range since lists may be invalid; null if
  /// keys are not in pages:
  ///   clamp(pages[entry + key / size], 0, number of pages - 1)
  mlir::Value pageOf(mlir::Value key);

private:
  mlir::Value loadNumber(mlir::Value list, mlir::Value place);

  mlir::Operation *reader;

protected:
  mlir::MemRefType sourceType;
  KeyLists lists;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_TILETONVVM_KEYCODE_H
