//===- SynchronizeManaged.cpp - Make managed allocations synchronous ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace fmha {
#define GEN_PASS_DEF_SYNCHRONIZEMANAGED
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct SynchronizeManagedPass
    : public fmha::impl::SynchronizeManagedBase<SynchronizeManagedPass> {
  void runOnOperation() override;
};

/// %m, %t = gpu.alloc async [%d] host_shared ()
/// ->
/// %m = gpu.alloc host_shared ()        with %d in place of %t
void synchronize(gpu::AllocOp alloc, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(alloc);
  Value token;
  if (alloc.getAsyncDependencies().size() == 1)
    token = alloc.getAsyncDependencies().front();
  else
    token = gpu::WaitOp::create(rewriter, alloc.getLoc(),
                                alloc.getAsyncToken().getType(),
                                alloc.getAsyncDependencies())
                .getAsyncToken();
  auto plain = gpu::AllocOp::create(
      rewriter, alloc.getLoc(), alloc.getType(), Type(), ValueRange(),
      alloc.getDynamicSizes(), alloc.getSymbolOperands(), /*hostShared=*/true);
  rewriter.replaceOp(alloc, {plain.getMemref(), token});
}

void SynchronizeManagedPass::runOnOperation() {
  IRRewriter rewriter(&getContext());
  getOperation().walk([&](gpu::AllocOp alloc) {
    if (alloc.getHostShared() && alloc.getAsyncToken())
      synchronize(alloc, rewriter);
  });
}

} // namespace
