//===- Classes.h - Classes of PTX instructions ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_CLASSES_H
#define FMHA_PTX_TIME_CLASSES_H

#include "fmha/PTX/Time/Costs.h"

namespace ptxsim::timing {

/// When an instruction may issue before those that precede it in PTX.
enum class Order : uint8_t { Any, Ordered, Last };

/// Units of a sub-partition that an instruction occupies from its issue on.
enum class Pipe : uint8_t {
  None,
  Fma,
  Alu,
  Mufu,
  Double,
  Shuffle,
  Tensor,
  Uniform,
  Lsu
};
constexpr size_t kPipes = 9;

/// What the stepper does with an instruction that has issued.
enum class Action : uint8_t {
  Plain,
  Load,
  Store,
  Atomic,
  Signal,
  Meet,
  Fence,
  Copy,
  CopyCommit,
  CopyWait,
  CopyWaitRead,
  CpAsync,
  CpCommit,
  CpWait,
  CpArrive,
  TmemLoad,
  TmemStore,
  TmemWaitLoad,
  TmemWaitStore,
  TmemCopy,
  Mma,
  MmaCommit,
  Wgmma,
  WgmmaCommit,
  WgmmaWait,
  MmaSync,
  Branch,
  Shuffle,
};

struct CostClass {
  std::string_view name, label;
  Order order;
  Action action;
  Pipe pipe;
  Figure interval, latency;
  unsigned slots;
};

/// Returns the class of a dotted opcode, from Classes.def.
const CostClass &classOf(std::string_view opcode);
/// Returns the class of a SASS opcode, from SassClasses.def.
const CostClass &sassClassOf(std::string_view opcode);
/// Returns the class of what ptxas emits nothing for.
const CostClass &freeClass();
/// Returns the class of instructions of the uniform pipe.
const CostClass &uniformClass();

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_CLASSES_H
