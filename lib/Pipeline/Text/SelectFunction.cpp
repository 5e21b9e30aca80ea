//===- SelectFunction.cpp - One function of a module ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/SelectFunction.h"
#include "CompilerDialects.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fmha;

/// Returns whether `op` is one that a kernel is made of.
static bool isCompiled(Operation *op) {
  return isa<AttentionOp, AppendOp, MergeOp>(op);
}

/// Returns whether `op` makes views, extents, constants or memory without
/// contents.
static bool isPlain(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() ||
         op->hasTrait<OpTrait::ConstantLike>() ||
         isa<TransposeOp, tensor::EmptyOp, tensor::DimOp, tensor::CastOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp, memref::AllocOp,
             memref::DeallocOp, memref::DimOp, memref::CastOp,
             memref::SubViewOp, tensor::ExtractSliceOp>(op);
}

/// Returns whether all results of `op` are only destinations, whose contents no
/// fmha op reads.
static bool makesDestinations(Operation *op) {
  return op->getNumResults() != 0 &&
         llvm::all_of(op->getUses(), [](OpOperand &use) {
           auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
           return user && isCompiled(user) && user.isDpsInit(&use);
         });
}

/// Returns the name of `op` and its place.
static std::string describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto place = dyn_cast<FileLineColLoc>(op->getLoc()))
    text += llvm::formatv(" at {0}:{1}:{2}", place.getFilename().getValue(),
                          place.getLine(), place.getColumn());
  return text;
}

static std::vector<std::string> ignoredOps(func::FuncOp function) {
  std::vector<std::string> ignored;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    if (!isCompiled(op) && !isPlain(op) && !makesDestinations(op))
      ignored.push_back(describe(op));
    return WalkResult::skip();
  });
  return ignored;
}

/// Makes the other public functions private, and erases those that nothing
/// reachable from `kept` calls.
static void keepOnly(ModuleOp module, func::FuncOp kept) {
  SmallVector<func::FuncOp> others;
  module.walk([&](func::FuncOp other) {
    if (other != kept)
      others.push_back(other);
  });
  for (func::FuncOp other : others)
    other.setPrivate();
  bool changed = true;
  while (std::exchange(changed, false))
    for (func::FuncOp &other : others)
      if (other && SymbolTable::symbolKnownUseEmpty(other, module)) {
        other.erase();
        other = nullptr;
        changed = true;
      }
}

/// Returns the error that `name` has several functions, or not that one.
static llvm::Error wrongFunction(const std::string &name,
                                 ArrayRef<func::FuncOp> functions,
                                 const std::string &function) {
  std::string names =
      llvm::join(llvm::map_range(
                     functions, [](func::FuncOp one) { return one.getName(); }),
                 ", ");
  if (functions.empty())
    return llvm::createStringError(
        llvm::formatv("{0}: expected --function to name a public function, got "
                      "{1} and a file without one",
                      name, function));
  std::string text =
      function.empty()
          ? llvm::formatv("{0}: expected one public function, got {1}: {2}; "
                          "--function=NAME takes one of them, and fmha-opt "
                          "with fmha-program-to-llvm compiles whole programs",
                          name, functions.size(), names)
                .str()
          : llvm::formatv("{0}: expected --function to name one of its public "
                          "functions, {1}, got {2}",
                          name, names, function)
                .str();
  return llvm::createStringError(text);
}

static std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  return text;
}

llvm::Expected<SelectedFunction>
fmha::selectFunction(const std::string &text, const std::string &name,
                     const std::string &function, bool mayDiffer) {
  MLIRContext context(compilerDialects(), MLIRContext::Threading::DISABLED);
  // Another reader reports what is wrong with the text.
  ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) {});
  auto module = parseSourceString<ModuleOp>(text, &context, name);
  SmallVector<func::FuncOp> functions;
  if (module)
    module->walk([&](func::FuncOp one) {
      if (one.isPublic())
        functions.push_back(one);
    });
  if (functions.empty() && (!module || function.empty() || mayDiffer))
    return SelectedFunction{text, {}};
  auto *named = llvm::find_if(
      functions, [&](func::FuncOp one) { return one.getName() == function; });
  bool isSole = functions.size() == 1 && (function.empty() || mayDiffer);
  if (isSole)
    named = functions.begin();
  if (named == functions.end())
    return wrongFunction(name, functions, function);
  std::vector<std::string> ignored = ignoredOps(*named);
  if (functions.size() == 1)
    return SelectedFunction{text, std::move(ignored)};
  keepOnly(*module, *named);
  return SelectedFunction{printed(*module), std::move(ignored)};
}
