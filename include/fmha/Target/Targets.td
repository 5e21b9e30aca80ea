//===- Targets.td - One record per GPU ---------------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler knows of each GPU. A capacity is a promise of the PTX ISA or
// the CUDA programming guide; a rate is what was measured or modelled in public
// and serves ranking only, never correctness. Each odd number has its source.
//
// Rows become fmha::target::Target (Target.h) by -gen-searchable-tables.
//
//===----------------------------------------------------------------------===//

include "llvm/TableGen/SearchableTable.td"

class Gpu<string name> {
  // As ptxas and LLVM's NVPTX back end spell it.
  string Name = name;
  string Product = "";
  // Subtarget features of the back end. PTX ISA 8.8 is the least of sm_103a, and
  // below it LLVM prints a 3-input max as two and a 256-bit load as two.
  string Features = "+ptx88";

  // Whether attention can be lowered for it; if not, Reason says what is missing.
  bit Supported = 0;
  string Reason = "";

  // Matrix unit: tcgen05 (MMA with tensor memory), wgmma, or neither (mma.sync).
  bit HasTcgen05 = 0;
  bit HasWgmma = 0;
  bit HasTma = 0;

  // Columns of 128 lanes x 32 bits, and the least and unit of tcgen05.alloc
  // (PTX ISA 9.7.16.1 and 9.7.16.7.1).
  bits<16> TmemColumns = 0;
  bits<16> TmemAllocationUnit = 0;

  // Bytes one CTA can have, as dynamic shared memory with the opt-in attribute
  // (CUDA C++ programming guide, compute capabilities: 227 KiB of 228, 1 KiB of
  // each CTA is the system's). sm_80: 163 of 164 KiB.
  bits<32> SmemBytesPerCta = 232448;

  // 32-bit registers of one SM, and most per thread; setmaxnreg goes to 256 by
  // the PTX ISA (9.7.19.5) but code generation stops at 255.
  bits<32> RegistersPerSm = 65536;
  bits<16> MaxRegistersPerThread = 255;
  bits<16> MaxThreadsPerCta = 1024;

  bits<16> Sms = 0;

  // Dense FLOP of 16-bit MMA per clock and SM.
  bits<16> MmaFlopsPerClock = 0;
  // MUFU results (ex2) per clock and SM.
  bits<16> MufuPerClock = 16;
  // f32 FMA lanes per clock and SM.
  bits<16> FmaPerClock = 128;
  // Shared-memory bytes per clock and SM; MMA operands come through this port
  // too.
  bits<16> SmemBytesPerClock = 128;
  // Tensor-memory bytes per clock and SM through tcgen05.ld; .st assumed equal.
  bits<16> TmemBytesPerClock = 0;
}

// Measured 8114 of 8192 FLOP/clk for 128x128 bf16 (a public microbenchmark,
// 64.6 clocks per 128x128x16); MUFU 16/clk from the FlashAttention-4 model and
// an independent measurement; tcgen05.ld .x16 57 B/clk/warp over four warps,
// medium confidence, no figure for .st.
class Blackwell<string name> : Gpu<name> {
  let Supported = 1;
  let HasTcgen05 = 1;
  let HasTma = 1;
  let TmemColumns = 512;
  let TmemAllocationUnit = 32;
  let Sms = 148;
  let MmaFlopsPerClock = 8192;
  let TmemBytesPerClock = 228;
}

def SM100a : Blackwell<"sm_100a"> {
  let Product = "B200";
}

// B300 doubles the MUFU rate (FlashAttention-4 paper; NVIDIA Blackwell Ultra);
// all else that attention meets is as in sm_100a, kind::i8 excepted.
def SM103a : Blackwell<"sm_103a"> {
  let Product = "B300";
  let MufuPerClock = 32;
}

// 4096 FLOP/clk of bf16 wgmma (H100; two public measurements reach 94 %).
def SM90a : Gpu<"sm_90a"> {
  let Product = "H100";
  let Reason = "wgmma keeps P in registers, a lowering that is not written";
  let HasWgmma = 1;
  let HasTma = 1;
  let Sms = 132;
  let MmaFlopsPerClock = 4096;
}

// 2048 FLOP/clk of bf16 mma.sync (A100: 312 TFLOP/s over 108 SMs at 1.41 GHz).
def SM80 : Gpu<"sm_80"> {
  let Product = "A100";
  let Reason = "it has neither TMA nor tensor memory, and the mma.sync "
               "lowering is not written";
  let SmemBytesPerCta = 166912;
  let Sms = 108;
  let MmaFlopsPerClock = 2048;
  let FmaPerClock = 64;
}

def Targets : GenericTable {
  let FilterClass = "Gpu";
  let CppTypeName = "Target";
  let Fields = ["Name", "Product", "Features", "Supported", "Reason",
                "HasTcgen05", "HasWgmma", "HasTma", "TmemColumns",
                "TmemAllocationUnit", "SmemBytesPerCta", "RegistersPerSm",
                "MaxRegistersPerThread", "MaxThreadsPerCta", "Sms",
                "MmaFlopsPerClock", "MufuPerClock", "FmaPerClock",
                "SmemBytesPerClock", "TmemBytesPerClock"];
}
