//===- AttachManifest.cpp - Put the launch manifest beside the PTX --*- C++ -*===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Pipeline/Manifest.h"
#include "fmha/Pipeline/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace fmha {
#define GEN_PASS_DEF_ATTACHMANIFEST
#include "fmha/Pipeline/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct AttachManifestPass
    : public fmha::impl::AttachManifestBase<AttachManifestPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](AttentionOp op) { attach(op, symbols); });
  }

private:
  static void attach(AttentionOp op, SymbolTable &symbols);
};

/// The object's text with `heading` before it. The serializer may end it with
/// NUL bytes; the loader that MLIR generates wants one, other readers none, so
/// one stays.
gpu::ObjectAttr withHeading(gpu::ObjectAttr object, const std::string &heading) {
  MLIRContext *ctx = object.getContext();
  StringRef text = object.getObject().getValue().rtrim('\0');
  std::string all = heading + text.str() + '\0';
  return gpu::ObjectAttr::get(ctx, object.getTarget(), object.getFormat(),
                              StringAttr::get(ctx, all), object.getProperties(),
                              object.getKernels());
}

void AttachManifestPass::attach(AttentionOp op, SymbolTable &symbols) {
  auto kernel = op->getAttrOfType<SymbolRefAttr>("fmha.kernel");
  if (!kernel || !op.getScheduleAttr())
    return;
  auto binary = symbols.lookup<gpu::BinaryOp>(kernel.getRootReference());
  if (!binary || binary->hasAttr("fmha.manifest"))
    return;
  const schedule::Schedule &schedule = op.getScheduleAttr().getValue();
  KernelSpec spec{op.getProblem(), op.getScaleOrDefault()};
  std::string manifest =
      launchManifest(spec, schedule, kernel.getLeafReference().str());
  OpBuilder b(op.getContext());
  binary->setAttr("fmha.manifest", b.getStringAttr(manifest));
  SmallVector<Attribute> objects;
  for (Attribute object : binary.getObjects())
    objects.push_back(withHeading(cast<gpu::ObjectAttr>(object),
                                  ptxHeading(spec, schedule)));
  binary.setObjectsAttr(b.getArrayAttr(objects));
}

} // namespace
