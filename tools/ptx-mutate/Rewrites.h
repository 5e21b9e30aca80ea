//===- Rewrites.h - Mutants of an instruction -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXMUTATE_REWRITES_H
#define FMHA_TOOLS_PTXMUTATE_REWRITES_H

#include "Rules.h"

namespace ptxsim::mutate {

using Text = std::optional<std::string>;

/// Any instruction -> removed, duplicated, or without its guard.
Text drop(const RewriteInput &input);
Text twice(const RewriteInput &input);
Text unguard(const RewriteInput &input);

/// fence.acq_rel.gpu -> fence.acq_rel.cta, membar.gl -> membar.cta.
Text narrowScope(const RewriteInput &input);
/// mbarrier.arrive.b64 -> mbarrier.arrive.relaxed.cta.b64; same for .acquire
/// and .acq_rel. Not for the arrival of a thread that then copies to the same
/// barrier: its copy releases the same.
Text relax(const RewriteInput &input);

/// mbarrier.try_wait p, ... -> setp.eq.u32 p, 0, 0; same for
/// query_cancel.is_canceled.
Text passImmediately(const RewriteInput &input);
/// The parity operand XOR 1.
Text flipParity(const RewriteInput &input);
/// mbarrier.arrive.expect_tx -> mbarrier.arrive; mbarrier.expect_tx -> nothing.
Text dropExpectation(const RewriteInput &input);
/// wait_group N -> wait_group N+1
Text waitForOneLess(const RewriteInput &input);
/// cp.async.bulk.wait_group -> cp.async.bulk.wait_group.read
Text waitForReads(const RewriteInput &input);
/// setmaxnreg.inc 200 -> setmaxnreg.inc 208: more than are free if the kernel
/// distributes all registers. setmaxnreg.dec releases 8 fewer.
Text addRegisters(const RewriteInput &input);
/// The number of columns / 2.
Text halveColumns(const RewriteInput &input);

/// The transaction count, or a barrier's count, plus Amount.
template <int Amount> Text addToLast(const RewriteInput &input);

/// Moves the barrier by Bytes, as an operand of mbarrier, tcgen05.commit or a
/// bulk copy.
template <int Bytes> Text moveBarrier(const RewriteInput &input);
/// Moves the shared memory of a copy by one stage.
Text moveBuffer(const RewriteInput &input);
/// Moves the shared memory of A or B of tcgen05.mma by one stage.
template <unsigned Operand> Text moveDescriptor(const RewriteInput &input);

/// elect.sync d|p -> d = 0, p = true in every lane.
Text electEveryLane(const RewriteInput &input);
/// setp.eq p, thread, 0 -> p = true; setp.ne -> p = false.
Text matchEveryThread(const RewriteInput &input);

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_REWRITES_H
