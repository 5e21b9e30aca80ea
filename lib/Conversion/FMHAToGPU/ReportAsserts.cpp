//===- ReportAsserts.cpp - Report failed assertions on stderr -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace fmha {
#define GEN_PASS_DEF_REPORTASSERTS
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct ReportAssertsPass
    : public fmha::impl::ReportAssertsBase<ReportAssertsPass> {
  void runOnOperation() override;

private:
  LogicalResult report(cf::AssertOp op, SymbolTable &symbols);
};

constexpr StringLiteral failFunction = "mgpuFmhaFail";

/// Emits an error and fails if a symbol has the name of the run-time function
/// but is not its declaration.
LogicalResult checkSymbol(const SymbolTable &symbols) {
  Operation *other = symbols.lookup(failFunction);
  auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(other);
  MLIRContext *context = symbols.getOp()->getContext();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          LLVM::LLVMPointerType::get(context));
  if (!other || (function && function.getFunctionType() == type))
    return success();
  InFlightDiagnostic error = other->emitError()
                             << "expected @" << failFunction
                             << ", which failed assertions call, to be an "
                                "llvm.func of type "
                             << Type(type) << ", got " << other->getName();
  if (function)
    error << " of type " << function.getFunctionType();
  return error << "; rename it";
}

/// Returns the address of a global with the characters of `text` and a NUL.
Value addressOf(StringRef text, Location loc, OpBuilder &b,
                SymbolTable &symbols) {
  OpBuilder atModule(b.getContext());
  std::string terminated = text.str() + '\0';
  Type type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
  auto global = LLVM::GlobalOp::create(atModule, loc, type, /*isConstant=*/true,
                                       LLVM::Linkage::Private, "fmha_assert",
                                       b.getStringAttr(terminated));
  symbols.insert(global);
  return LLVM::AddressOfOp::create(b, loc, global);
}

/// cf.assert %holds, "text"
/// ->
/// cf.cond_br %holds, ^after, ^failed
/// ^failed:
///   llvm.call @mgpuFmhaFail("text")
///   llvm.unreachable
/// ^after:
LogicalResult ReportAssertsPass::report(cf::AssertOp op, SymbolTable &symbols) {
  // Asserts in regions with a single block (structured control flow) stay.
  if (!isa<FunctionOpInterface>(op->getParentOp()))
    return success();
  IRRewriter b(op);
  Type pointer = LLVM::LLVMPointerType::get(op.getContext());
  FailureOr<LLVM::LLVMFuncOp> fail =
      LLVM::lookupOrCreateFn(b, getOperation(), failFunction, pointer,
                             LLVM::LLVMVoidType::get(op.getContext()));
  if (failed(fail))
    return failure();
  Block *before = op->getBlock();
  Block *after = b.splitBlock(before, std::next(Block::iterator(op)));
  Block *failing = b.createBlock(after);
  Value text = addressOf(op.getMsg(), op.getLoc(), b, symbols);
  LLVM::CallOp::create(b, op.getLoc(), *fail, text);
  LLVM::UnreachableOp::create(b, op.getLoc());
  b.setInsertionPointToEnd(before);
  cf::CondBranchOp::create(b, op.getLoc(), op.getArg(), after, failing);
  b.eraseOp(op);
  return success();
}

void ReportAssertsPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  SmallVector<cf::AssertOp> asserts;
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Nested modules have symbols of their own.
    if (isa<ModuleOp>(op) && op != getOperation())
      return WalkResult::skip();
    if (auto assert = dyn_cast<cf::AssertOp>(op))
      asserts.push_back(assert);
    return WalkResult::advance();
  });
  if (!asserts.empty() && failed(checkSymbol(symbols)))
    return signalPassFailure();
  for (cf::AssertOp op : asserts)
    if (failed(report(op, symbols)))
      return signalPassFailure();
}

} // namespace
