//===- KeyCode.cpp - Places of the keys that threads read -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyCode.h"
#include "MachinePatterns.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fmha;

Value NumberCode::threadFrom(int64_t firstWarp) {
  Value id = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value number =
      make<arith::SubIOp>(id, i32(firstWarp * int64_t(target::warpThreads)));
  return LLVM::InlineAsmOp::create(
             b, b.getI32Type(), number, /*asm_string=*/"",
             /*constraints=*/"=r,0", /*has_side_effects=*/true,
             /*is_align_stack=*/false, LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr(), ArrayAttr())
      .getRes();
}

Value KeyCode::lastOf(Value length) {
  return make<arith::MaxSIOp>(make<arith::SubIOp>(length, i32(1)), i32(0));
}

/// Returns an entry of a list of i32 that no kernel writes.
Value KeyCode::loadNumber(Value list, Value place) {
  Value address = LLVM::GEPOp::create(b, list.getType(), b.getI32Type(), list,
                                      ArrayRef<LLVM::GEPArg>{wide(place)});
  auto load = LLVM::LoadOp::create(b, b.getI32Type(), address);
  load.setInvariant(true);
  return load;
}

Value KeyCode::listed(Value row) {
  if (!lists.list)
    return row;
  Value number =
      loadNumber(lists.list, make<arith::AddIOp>(narrow(lists.first), row));
  Value most = make<arith::SubIOp>(narrow(lists.bound), i32(1));
  return make<arith::MaxSIOp>(make<arith::MinSIOp>(number, most), i32(0));
}

Value KeyCode::pageOf(Value key) {
  if (!lists.pages)
    return {};
  Value number = make<arith::DivUIOp>(key, i32(sourceType.getDimSize(1)));
  Value page =
      loadNumber(lists.pages, make<arith::AddIOp>(narrow(lists.entry), number));
  Value most = make<arith::SubIOp>(parameterOf(reader, "pages"), i32(1));
  return make<arith::MaxSIOp>(make<arith::MinSIOp>(page, most), i32(0));
}
