//===- Rules.cpp - The rules that mutate a kernel -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "Rewrites.h"

using namespace ptxsim::syntax;

namespace ptxsim::mutate {
namespace {

constexpr Pattern kFence = {"fence", "", {"proxy", "mbarrier_init"}};
constexpr Pattern kCopyIn = {"cp.async.bulk", "mbarrier::complete_tx::bytes"};
constexpr Pattern kCopyOut = {"cp.async.bulk", "bulk_group"};
constexpr Pattern kExpectArrive = {"mbarrier.arrive.expect_tx"};
constexpr Pattern kTryCancel = {"clusterlaunchcontrol.try_cancel"};
constexpr Pattern kFirstCta = {
    "clusterlaunchcontrol.query_cancel.get_first_ctaid"};
constexpr Pattern kPlainArrive = {"mbarrier.arrive", "", {"expect_tx", ""}};

constexpr Rule kRules[] = {
    {"proxy-fence", "delete", {"fence.proxy"}, drop},
    {"tcgen05-fence", "delete", {"tcgen05.fence"}, drop},
    {"init-fence", "delete", {"fence.mbarrier_init"}, drop},
    {"memory-fence", "delete", kFence, drop},
    {"memory-fence", "narrow", kFence, narrowScope},
    {"memory-fence", "delete", {"membar", "", {"proxy", ""}}, drop},
    {"memory-fence", "narrow", {"membar", "", {"proxy", ""}}, narrowScope},

    {"mbarrier-wait", "no-wait", {"mbarrier.try_wait"}, passImmediately},
    {"mbarrier-wait", "no-wait", {"mbarrier.test_wait"}, passImmediately},
    {"tmem-wait", "delete", {"tcgen05.wait"}, drop},
    {"bulk-wait", "delete", {"cp.async.bulk.wait_group"}, drop},
    {"bulk-wait", "one-less", {"cp.async.bulk.wait_group"}, waitForOneLess},
    {"bulk-wait",
     "reads-only",
     {"cp.async.bulk.wait_group", "", {"read", ""}},
     waitForReads},
    {"copy-wait", "delete", {"cp.async.wait_group"}, drop},
    {"copy-wait", "delete", {"cp.async.wait_all"}, drop},
    {"copy-wait", "one-less", {"cp.async.wait_group"}, waitForOneLess},
    {"group-commit", "delete", {"cp.async.bulk.commit_group"}, drop},
    {"group-commit", "delete", {"cp.async.commit_group"}, drop},
    {"group-commit", "delete", {"wgmma.commit_group"}, drop},
    {"wgmma-fence", "delete", {"wgmma.fence"}, drop},
    {"wgmma-wait", "delete", {"wgmma.wait_group"}, drop},
    {"wgmma-wait", "one-less", {"wgmma.wait_group"}, waitForOneLess},

    {"arrive", "delete", {"mbarrier.arrive"}, drop},
    {"arrive", "double", {"mbarrier.arrive"}, twice},
    {"arrive", "delete", {"cp.async.mbarrier.arrive"}, drop},
    {"arrive", "double", {"cp.async.mbarrier.arrive"}, twice},
    {"expect-tx", "plus-16", kExpectArrive, addToLast<16>},
    {"expect-tx", "minus-16", kExpectArrive, addToLast<-16>},
    {"expect-tx", "delete", kExpectArrive, dropExpectation},
    {"expect-tx", "plus-16", {"mbarrier.expect_tx"}, addToLast<16>},
    {"expect-tx", "minus-16", {"mbarrier.expect_tx"}, addToLast<-16>},
    {"expect-tx", "delete", {"mbarrier.expect_tx"}, dropExpectation},
    {"commit", "delete", {"tcgen05.commit"}, drop},
    {"commit", "next-barrier", {"tcgen05.commit"}, moveBarrier<8>},
    {"commit", "previous-barrier", {"tcgen05.commit"}, moveBarrier<-8>},
    {"parity", "flip", {"mbarrier.try_wait.parity"}, flipParity},
    {"parity", "flip", {"mbarrier.test_wait.parity"}, flipParity},
    {"init-count", "plus-1", {"mbarrier.init"}, addToLast<1>},
    {"init-count", "minus-1", {"mbarrier.init"}, addToLast<-1>},

    {"cta-barrier", "delete", {"bar", "", {"warp", ""}}, drop},
    {"cta-barrier", "delete", {"barrier"}, drop},
    {"warp-barrier", "delete", {"bar.warp.sync"}, drop},

    {"grid-wait", "delete", {"griddepcontrol.wait"}, drop},

    {"stage", "next-barrier", {"mbarrier.try_wait"}, moveBarrier<8>},
    {"stage", "next-barrier", {"mbarrier.arrive"}, moveBarrier<8>},
    {"stage", "next-barrier", kCopyIn, moveBarrier<8>},
    {"stage", "next-barrier", kTryCancel, moveBarrier<8>},
    {"stage", "next-slot", kTryCancel, moveBuffer},
    {"stage", "next-slot", kCopyIn, moveBuffer},
    {"stage", "next-slot", kCopyOut, moveBuffer},
    {"stage", "next-slot", {"cp.async.cg"}, moveBuffer},
    {"stage", "next-slot", {"cp.async.ca"}, moveBuffer},
    {"stage", "next-slot-of-a", {"tcgen05.mma"}, moveDescriptor<1>},
    {"stage", "next-slot-of-b", {"tcgen05.mma"}, moveDescriptor<2>},
    {"stage", "next-slot-of-a", {"wgmma.mma_async"}, moveDescriptor<1>},
    {"stage", "next-slot-of-b", {"wgmma.mma_async"}, moveDescriptor<2>},

    {"release", "relax", {"mbarrier.arrive"}, relax},
    {"release", "relax", {"mbarrier.try_wait"}, relax},
    {"release", "relax", {"mbarrier.test_wait"}, relax},
    {"release", "relax", {"barrier.cluster.arrive", "release"}, relax},
    {"release", "relax", {"st", "release"}, relax},
    {"release", "relax", {"ld", "acquire"}, relax},
    {"release", "relax", {"red", "release"}, relax},
    {"release", "relax", {"atom", "release"}, relax},
    {"release", "relax", {"atom", "acquire"}, relax},
    {"release", "relax", {"atom", "acq_rel"}, relax},

    {"launch-control", "delete", kTryCancel, drop},
    {"launch-control", "double", kTryCancel, twice},
    {"launch-control",
     "always",
     {"clusterlaunchcontrol.query_cancel.is_canceled"},
     passImmediately},
    {"launch-control", "unasked", kFirstCta, unguard},

    {"setmaxnreg", "delete", {"setmaxnreg.dec"}, drop},
    {"setmaxnreg", "plus-8", {"setmaxnreg"}, addRegisters},
    {"tmem-alloc", "halve", {"tcgen05.alloc"}, halveColumns},
    {"tmem-alloc", "delete", {"tcgen05.dealloc"}, drop},

    {"leader", "every-lane", {"elect.sync"}, electEveryLane},
    {"leader", "every-lane", {"setp"}, matchEveryThread},
    {"leader", "unguarded", kPlainArrive, unguard},
    {"leader", "unguarded", kExpectArrive, unguard},
    {"leader", "unguarded", {"tcgen05.commit"}, unguard},
    {"leader", "unguarded", {"tcgen05.mma"}, unguard},
    {"leader", "unguarded", {"mbarrier.init"}, unguard},
    {"leader", "unguarded", {"mbarrier.inval"}, unguard},
    {"leader", "unguarded", kCopyIn, unguard},
    {"leader", "unguarded", kCopyOut, unguard},
    {"leader", "unguarded", kTryCancel, unguard},
};

} // namespace

bool Pattern::matches(const Instruction &instruction) const {
  std::string_view opcode = instruction.opcode;
  if (!opcode.starts_with(start))
    return false;
  std::string_view rest = opcode.substr(start.size());
  if (!rest.empty() && rest[0] != '.' && rest[0] != ':')
    return false;
  for (std::string_view word : without)
    if (!word.empty() && instruction.has(word))
      return false;
  return with.empty() || instruction.has(with);
}

std::span<const Rule> rules() { return kRules; }

} // namespace ptxsim::mutate
