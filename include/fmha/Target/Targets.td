//===- Targets.td - One record per GPU ---------------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler knows of each GPU. A capacity is a promise of the PTX ISA or
// the CUDA programming guide; a rate is what was measured or modeled in public
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
  // A grid can wait for earlier ones by griddepcontrol (PTX ISA 9.7.13.13: sm_90
  // and later), so that its launch may be programmatic.
  bit HasGridDependencies = 1;
  // cvt.f16x2.e4m3x2 (PTX ISA 9.7.9.21: sm_89 and later).
  bit HasE4M3Conversions = 1;

  // Optimization level of LLVM's back end (KernelSerializer.h says what was
  // measured), and whether the loop of each role that is one thread has its own
  // base of shared memory (SeparateBases.cpp).
  bits<8> BackEndLevel = 0;
  bit HasOwnBases = 0;

  // Columns of 128 lanes x 32 bits, and the least and unit of tcgen05.alloc
  // (PTX ISA 9.7.16.1 and 9.7.16.7.1).
  bits<16> TmemColumns = 0;
  bits<16> TmemAllocationUnit = 0;

  // Bytes one CTA can have, as dynamic shared memory with the opt-in attribute
  // (CUDA C++ programming guide, compute capabilities: 227 KiB of 228, 1 KiB of
  // each CTA is the system's). sm_80: 163 of 164 KiB.
  bits<32> SmemBytesPerCta = 232448;

  // Most registers of a thread; setmaxnreg goes to 256 by the PTX ISA (9.7.19.5)
  // but code generation stops at 255.
  bits<16> MaxRegistersPerThread = 255;
  // Barriers of one CTA that bar.sync can name (PTX ISA 9.7.13.1).
  bits<16> NamedBarriers = 16;

  bits<16> Sms = 0;

  // Rates per clock and SM. Dense FLOP of MMA on elements of 16 bits; elements of
  // 8 bits go twice as fast, since every MMA takes the clocks of its bytes of K.
  bits<16> MmaFlopsPerClock = 0;
  // Rows of D that one instruction fills at that rate: fewer rows take as long.
  bits<16> MmaRows = 128;
  // Tenths of a clock that an instruction takes on top of what its FLOP or its
  // operands take.
  bits<16> MmaStartTenths = 0;
  // MUFU results (ex2).
  bits<16> MufuPerClock = 16;
  // f32 FMA lanes, and lanes of the integer pipe, which also takes maxima and
  // shifts (half as many on every SM since sm_80; CUDA C++ programming guide,
  // arithmetic throughput). Conversions from f32 pairs: 16 on sm_80, 64 since.
  bits<16> FmaPerClock = 128;
  bits<16> AluPerClock = 64;
  bits<16> ConvertPerClock = 64;
  // Shared-memory bytes; MMA operands come through this port too.
  bits<16> SmemBytesPerClock = 128;
  // Tensor-memory bytes through tcgen05.ld; .st is assumed to share its port.
  bits<16> TmemBytesPerClock = 0;
  // Bytes from L2: the L2's bandwidth over all SMs and the clock.
  bits<16> L2BytesPerClock = 0;

  // Clocks that nothing but waiting fills. From the end of an MMA to the warp that
  // waited for it; from the load of S to its registers; from the store of P to
  // the MMA that reads it, where P is in tensor memory or in registers.
  bits<16> MmaLatency = 0;
  bits<16> ScoreLatency = 0;
  bits<16> ProbabilityLatency = 0;
  // On top where P goes through shared memory: the fence between the proxies.
  bits<16> ProxyFenceLatency = 0;
  // The first tcgen05.cp of a batch, which brings block scales.
  bits<16> ScaleCopyLatency = 0;
  // From the launch of a CTA to its first K block, and from its last MMA to the
  // end of its stores: each one trip to memory.
  bits<16> MemoryLatency = 800;

  // Boost clock in MHz, and bytes of device memory per second in units of 10^9:
  // what was measured where there is a measurement.
  bits<16> ClockMhz = 0;
  bits<16> MemoryGigabytes = 0;
}

// MMA: measured 8114 of 8192 FLOP/clk for 128x128 bf16 (SemiAnalysis
// microbench-blackwell: 64.6 clocks per 128x128x16, 48.6 per 128x64x16, 32.5 with
// A in tensor memory, so 0.5 to 0.6 on top; M = 64 takes as long); an MMA and its
// wait take 136 + N/2 clocks there, N/2 of them the product's. MUFU 16 a
// clock: the FlashAttention-4 model (arXiv 2603.05451) and an independent
// measurement. tcgen05.ld .x16: 57 B/clk/warp over four warps, and 200 clocks in a
// loaded kernel, on a B300, medium confidence. No figure for .st: a round of
// store, wait and mbarrier is taken as 120 clocks, the loaded hand-off on an H100,
// low confidence. fence.proxy.async of the CTA: 30 clocks (B300, low confidence).
// tcgen05.cp: 168 clocks for the first (B200). L2: 20.5 TB/s over 148 SMs at
// 1.965 GHz (B200, medium confidence). Memory: 7.2 of 8.0 TB/s (SemiAnalysis); a
// trip there 700 to 745 clocks, TMA loaded 1400 and more.
class Blackwell<string name> : Gpu<name> {
  let Supported = 1;
  let HasTcgen05 = 1;
  let HasTma = 1;
  let TmemColumns = 512;
  let TmemAllocationUnit = 32;
  let Sms = 148;
  let MmaFlopsPerClock = 8192;
  let MmaStartTenths = 6;
  let TmemBytesPerClock = 228;
  let L2BytesPerClock = 70;
  let MmaLatency = 136;
  let ScoreLatency = 200;
  let ProbabilityLatency = 120;
  let ProxyFenceLatency = 30;
  let ScaleCopyLatency = 168;
  let MemoryLatency = 1400;
  let ClockMhz = 1965;
  let MemoryGigabytes = 7200;
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

// 4096 FLOP/clk of bf16 wgmma, 64 rows an instruction, N/2 clocks each and about
// one on top (65.0 for N = 128, 129.3 for 256; H100; two
// public measurements reach 94 %, arXiv 2402.13499 among them). S is in registers
// when the wait ends: m64n256k16 has 128 clocks of latency, its own time. L2:
// 9.2 TB/s over 132 SMs at 1.755 GHz. Memory: 3.0 of 3.35 TB/s, 479 to 744 clocks.
def SM90a : Gpu<"sm_90a"> {
  let Product = "H100";
  let Supported = 1;
  let HasWgmma = 1;
  let HasTma = 1;
  let BackEndLevel = 1;
  let HasOwnBases = 1;
  let Sms = 132;
  let MmaFlopsPerClock = 4096;
  let MmaRows = 64;
  let MmaStartTenths = 10;
  let L2BytesPerClock = 40;
  let MmaLatency = 30;
  let ClockMhz = 1755;
  let MemoryGigabytes = 3000;
}

// Targets of mma.sync m16n8k16 and cp.async. A fragment is in registers when the
// instruction ends, 16 rows at a time.
class Ampere<string name> : Gpu<name> {
  let Supported = 1;
  let HasGridDependencies = 0;
  let BackEndLevel = 1;
  let MmaRows = 16;
  let MmaLatency = 25;
}

// 2048 FLOP/clk of bf16 mma.sync, 25 clocks of latency (A100: 312 TFLOP/s over
// 108 SMs at 1.41 GHz; 2.0 TB/s; L2 5120 B/clk over all SMs, NVIDIA A100
// whitepaper).
def SM80 : Ampere<"sm_80"> {
  let Product = "A100";
  let HasE4M3Conversions = 0;
  let SmemBytesPerCta = 166912;
  let Sms = 108;
  let MmaFlopsPerClock = 2048;
  let FmaPerClock = 64;
  let ConvertPerClock = 16;
  let L2BytesPerClock = 47;
  let ClockMhz = 1410;
  let MemoryGigabytes = 2000;
}

// The GeForce rate with sums in f32 is half of that with sums in f16: 71 TFLOP/s
// over 82 SMs at 1.695 GHz, 512 FLOP/clk (GA102 whitepaper, appendix A; 936 GB/s).
// 99 of 100 KiB of shared memory (CUDA C++ programming guide, compute capability
// 8.6, as 8.9 and 12.0). L2: as sm_80 per SM, not measured.
def SM86 : Ampere<"sm_86"> {
  let Product = "RTX 3090";
  let HasE4M3Conversions = 0;
  let SmemBytesPerCta = 101376;
  let Sms = 82;
  let MmaFlopsPerClock = 512;
  let L2BytesPerClock = 47;
  let ClockMhz = 1695;
  let MemoryGigabytes = 936;
}

// 165 TFLOP/s with sums in f32 over 128 SMs at 2.52 GHz, 512 FLOP/clk; 1008 GB/s
// (Ada whitepaper, appendix A). L2: as sm_80 per SM, not measured.
def SM89 : Ampere<"sm_89"> {
  let Product = "RTX 4090";
  let SmemBytesPerCta = 101376;
  let Sms = 128;
  let MmaFlopsPerClock = 512;
  let L2BytesPerClock = 47;
  let ClockMhz = 2520;
  let MemoryGigabytes = 1008;
}

// 209.5 TFLOP/s with sums in f32 over 170 SMs at 2.407 GHz, 512 FLOP/clk; 1792
// GB/s (RTX Blackwell whitepaper, appendix A). It has TMA, which these kernels do
// not use. L2: as sm_80 per SM, not measured.
def SM120 : Ampere<"sm_120"> {
  let Product = "RTX 5090";
  let HasTma = 1;
  let HasGridDependencies = 1;
  let SmemBytesPerCta = 101376;
  let Sms = 170;
  let MmaFlopsPerClock = 512;
  let L2BytesPerClock = 47;
  let ClockMhz = 2407;
  let MemoryGigabytes = 1792;
}

// 64 KiB of shared memory, 40 SMs (T4; CUDA C++ programming guide, compute
// capability 7.5; Turing whitepaper).
def SM75 : Gpu<"sm_75"> {
  let Product = "T4";
  let Reason = "it has neither cp.async nor an mma.sync of bf16";
  let HasGridDependencies = 0;
  let HasE4M3Conversions = 0;
  let SmemBytesPerCta = 65536;
  let Sms = 40;
  let MmaFlopsPerClock = 1024;
  let MmaRows = 16;
  let FmaPerClock = 64;
  let ConvertPerClock = 16;
  let L2BytesPerClock = 47;
  let ClockMhz = 1590;
  let MemoryGigabytes = 320;
}

def Targets : GenericTable {
  let FilterClass = "Gpu";
  let CppTypeName = "Target";
  let Fields = ["Name", "Product", "Features", "Supported", "Reason",
                "HasTcgen05", "HasWgmma", "HasTma",
                "HasGridDependencies", "HasE4M3Conversions", "BackEndLevel",
                "HasOwnBases", "TmemColumns",
                "TmemAllocationUnit", "SmemBytesPerCta",
                "MaxRegistersPerThread", "Sms",
                "NamedBarriers", "MmaFlopsPerClock", "MmaRows", "MmaStartTenths",
                "MufuPerClock",
                "FmaPerClock", "AluPerClock", "ConvertPerClock",
                "SmemBytesPerClock", "TmemBytesPerClock", "L2BytesPerClock",
                "MmaLatency", "ScoreLatency", "ProbabilityLatency",
                "ProxyFenceLatency", "ScaleCopyLatency", "MemoryLatency",
                "ClockMhz", "MemoryGigabytes"];
}
