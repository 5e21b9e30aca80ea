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
Text drop(const Place &place);
Text twice(const Place &place);
Text unguard(const Place &place);

/// fence.acq_rel.gpu -> fence.acq_rel.cta, membar.gl -> membar.cta.
Text narrowScope(const Place &place);
/// mbarrier.arrive.b64 -> mbarrier.arrive.relaxed.cta.b64; same for .acquire
/// and .acq_rel. Not for the arrival of a thread that then copies to the same
/// barrier: its copy releases the same.
Text relax(const Place &place);

/// mbarrier.try_wait p, ... -> setp.eq.u32 p, 0, 0; same for
/// query_cancel.is_canceled.
Text passAtOnce(const Place &place);
/// The parity operand XOR 1.
Text flipParity(const Place &place);
/// mbarrier.arrive.expect_tx -> mbarrier.arrive; mbarrier.expect_tx -> nothing.
Text dropExpectation(const Place &place);
/// wait_group N -> wait_group N+1
Text waitForOneLess(const Place &place);
/// cp.async.bulk.wait_group -> cp.async.bulk.wait_group.read
Text waitForReads(const Place &place);
/// setmaxnreg.inc 200 -> setmaxnreg.inc 208: more than are free if the kernel
/// distributes all registers. setmaxnreg.dec releases 8 fewer.
Text addRegisters(const Place &place);
/// The number of columns / 2.
Text halveColumns(const Place &place);

/// The transaction count, or a barrier's count, plus Amount.
template <int Amount> Text addToLast(const Place &place);

/// Moves the barrier by Bytes, as an operand of mbarrier, tcgen05.commit or a
/// bulk copy.
template <int Bytes> Text moveBarrier(const Place &place);
/// Moves the shared memory of a copy by one stage.
Text moveBuffer(const Place &place);
/// Moves the shared memory of A or B of tcgen05.mma by one stage.
template <unsigned Operand> Text moveDescriptor(const Place &place);

/// elect.sync d|p -> d = 0, p = true in every lane.
Text electEveryLane(const Place &place);
/// setp.eq p, thread, 0 -> p = true; setp.ne -> p = false.
Text matchEveryThread(const Place &place);

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_REWRITES_H
