//===- FmaKernel.cpp - The kernel of plain threads ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaKernel.h"
#include "FmaBlocks.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Emits the kernel, and its end: sums over threads, and the outputs.
class FmaBuilder : FmaBlocks {
public:
  FmaBuilder(LLVM::LLVMFuncOp func, AttentionOp op) : FmaBlocks(func, op) {}
  void build();

private:
  /// What a row ends with: the factor of its output, the denominator relative
  /// to `top`, and the maximum `top` of scores and sink in log2 units.
  struct Ending {
    Value factor, total, top;
  };
  Ending endingOf(unsigned row, Value max, Value sum);
  void storeOutput(unsigned row, Value acc, Value factor);
  void storeColumns(unsigned row, Value factor);
  void storeRows(unsigned row, Value max, Value sum, const Ending &ending);
};

} // namespace

/// The sink is one more score of the row, without a value.
FmaBuilder::Ending FmaBuilder::endingOf(unsigned row, Value max, Value sum) {
  Ending ending{f32(1), sum, max};
  if (problem.sink) {
    Value logit = load(
        elementAt(parameter("sink"), wide(headOf(i32(row))), b.getF32Type()));
    Value sink = make<arith::MulFOp>(logit, f32(llvm::numbers::log2e));
    ending.top = make<arith::MaxNumFOp>(max, sink);
    Value shift = shiftOf(ending.top);
    Value weight = exp2(make<arith::SubFOp>(max, shift));
    Value more = exp2(make<arith::SubFOp>(sink, shift));
    ending.total = make<arith::AddFOp>(make<arith::MulFOp>(sum, weight), more);
    ending.factor = weight;
  }
  if (problem.unnormalised)
    ending.factor = f32(1);
  else
    ending.factor = make<arith::DivFOp>(ending.factor, ending.total);
  if (Value values = sharedScale("v_scale"))
    ending.factor = make<arith::MulFOp>(ending.factor, values);
  // A row without keys has a sum of 0.
  ending.factor = select(isNone(ending.top), zero, ending.factor);
  return ending;
}

/// Stores the sums over threads of the columns of a row.
void FmaBuilder::storeColumns(unsigned row, Value factor) {
  Type type = outElement;
  Value to = outputRow("o", row, type);
  loop(thread, i32(problem.headDimV), int32_t(all.threads), ValueRange(),
       [&](Value column, ValueRange) {
         Value sum = zero;
         for (unsigned slot = 0; slot < all.valueSlots; ++slot) {
           Value at = plus(column, i32(slot * problem.headDimV));
           sum = make<arith::AddFOp>(sum, load(shared("out", at)));
         }
         Value result = make<arith::MulFOp>(sum, factor);
         if (!type.isF32())
           result = arith::TruncFOp::create(b, type, result);
         LLVM::StoreOp::create(b, result, elementAt(to, column, type));
         return Values();
       });
}

void FmaBuilder::storeOutput(unsigned row, Value acc, Value factor) {
  // The columns of the previous row have been read.
  if (row)
    barrier();
  Value mine = shared("out", times(thread, i32(all.vectorElements)));
  LLVM::StoreOp::create(b, acc, mine, /*alignment=*/16);
  barrier();
  ifThen(isLive(row), [&] { storeColumns(row, factor); });
}

void FmaBuilder::storeRows(unsigned row, Value max, Value sum,
                           const Ending &ending) {
  Value ln2 = f32(llvm::numbers::ln2);
  auto store = [&](const char *name, Value value) {
    LLVM::StoreOp::create(b, value, outputRow(name, row, b.getF32Type()));
  };
  if (problem.lse)
    store("lse", make<arith::MulFOp>(
                     make<arith::AddFOp>(ending.top, log2(ending.total)), ln2));
  if (problem.rowMax)
    store("row_max", make<arith::MulFOp>(max, ln2));
  if (problem.rowSum)
    store("row_sum", sum);
}

void FmaBuilder::build() {
  // The kernel that combines the parts starts while this one runs.
  if (problem.isPart)
    NVVM::GriddepcontrolOp::create(b,
                                   NVVM::GridDepActionKind::launch_dependents);
  decode();
  buildAppend();
  loadQueries();
  FmaState state = buildLoop();
  Values sums = acrossThreads<arith::AddFOp>(state.sum, 1);
  Value isFirst = compare(arith::CmpIPredicate::eq, thread, i32(0));
  for (unsigned row = 0; row < all.rows; ++row) {
    Ending ending = endingOf(row, state.max[row], sums[row]);
    storeOutput(row, state.acc[row], ending.factor);
    if (problem.lse || problem.rowMax || problem.rowSum)
      ifThen(make<arith::AndIOp>(isFirst, isLive(row)),
             [&] { storeRows(row, state.max[row], sums[row], ending); });
  }
  LLVM::ReturnOp::create(b, ValueRange());
}

LLVM::LLVMFuncOp fmha::buildFmaKernel(AttentionOp op, gpu::GPUModuleOp module,
                                      StringRef name) {
  const schedule::Schedule &plan = op.getScheduleAttr().getValue();
  schedule::Problem problem = schedule::kernelProblem(op.getProblem(), plan);
  schedule::FmaThreads all(problem, plan);
  LLVM::LLVMFuncOp func = makeThreadKernel(
      module, op.getLoc(), name, kernelParameters(problem, plan), all.threads,
      plan.roles.front().registers);
  func->setAttr("fmha.schedule", op.getScheduleAttr());
  func->setAttr("fmha.problem", op.getProblemAttr());
  FmaBuilder(func, op).build();
  return func;
}
