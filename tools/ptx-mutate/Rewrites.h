//===- Rewrites.h - Broken forms of an instruction --------------*- C++ -*-===//
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

/// In: any instruction. Out: nothing, twice the same, or no guard.
Text drop(const Place &place);
Text twice(const Place &place);
Text unguard(const Place &place);

/// fence.acq_rel.gpu -> fence.acq_rel.cta, membar.gl -> membar.cta.
Text narrowScope(const Place &place);
/// mbarrier.arrive.b64 -> mbarrier.arrive.relaxed.cta.b64; .acquire and
/// .acq_rel likewise. Not the arrival of a thread that goes on to copy to the
/// same barrier: its copy hands on the same.
Text relax(const Place &place);

/// mbarrier.try_wait p, ... -> setp.eq.u32 p, 0, 0; query_cancel.is_canceled
/// likewise.
Text passAtOnce(const Place &place);
/// The parity operand XOR 1.
Text flipParity(const Place &place);
/// mbarrier.arrive.expect_tx -> mbarrier.arrive; mbarrier.expect_tx -> nothing.
Text dropExpectation(const Place &place);
/// wait_group N -> wait_group N+1
Text waitForOneLess(const Place &place);
/// cp.async.bulk.wait_group -> cp.async.bulk.wait_group.read
Text waitForReads(const Place &place);
/// setmaxnreg.inc 200 -> setmaxnreg.inc 208: more than is there, if the kernel
/// shares out all registers. setmaxnreg.dec likewise gives back 8 less.
Text addRegisters(const Place &place);
/// The number of columns / 2.
Text halveColumns(const Place &place);

/// The transaction count, or a barrier's count, plus Amount.
template <int Amount> Text addToLast(const Place &place);

/// The barrier Bytes away, as an operand of mbarrier, tcgen05.commit or a bulk
/// copy.
template <int Bytes> Text moveBarrier(const Place &place);
/// The shared memory of a copy one stage on.
Text moveBuffer(const Place &place);
/// The shared memory of tcgen05.mma's A or B one stage on.
template <unsigned Operand> Text moveDescriptor(const Place &place);

/// elect.sync d|p -> d = 0, p = true in every lane.
Text electEveryLane(const Place &place);
/// setp.eq p, thread, 0 -> p = true; setp.ne -> p = false.
Text matchEveryThread(const Place &place);

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_REWRITES_H
