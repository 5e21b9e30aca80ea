//===- SimulatorAgreesTest.cpp - Two maps written apart are one -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's layouts and the simulator's were written independently, so
// that a mistake cannot hide by being in both. Here every operand that the
// compiler can describe is decoded by the simulator, element by element.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Instruction.h"
#include "fmha/PTX/Sim/Units/InstrDescriptor.h"

#include "gtest/gtest.h"

using namespace fmha;

static ptxsim::Major theirs(layout::Major major) {
  return major == layout::Major::K ? ptxsim::Major::K : ptxsim::Major::MN;
}

/// Decodes each step's descriptor and compares all addresses inside it.
static void compareTile(const layout::SmemTile &tile, uint32_t start) {
  for (unsigned step = 0; step < tile.kSteps(); ++step) {
    uint64_t raw = tile.descriptor(start + tile.kStepOffset(step));
    auto decoded =
        ptxsim::decodeSmemDescriptor(raw, ptxsim::DescriptorArch::Tcgen05);
    ASSERT_EQ(decoded.error, std::nullopt);
    for (unsigned mn = 0; mn < tile.mn; ++mn)
      for (unsigned k = 0; k < tile.kPerStep(); ++k)
        ASSERT_EQ(decoded.descriptor.address(theirs(tile.major),
                                             tile.elementBytes, mn, k),
                  start + tile.offset(mn, step * tile.kPerStep() + k))
            << "mn " << mn << " k " << k << " step " << step;
  }
}

TEST(SimulatorAgrees, OnEveryOperandInSharedMemory) {
  using layout::AtomOrder;
  using layout::Major;
  using layout::Swizzle;
  for (Major major : {Major::K, Major::MN})
    for (Swizzle mode : {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64,
                         Swizzle::Bytes128, Swizzle::Bytes128Atom32})
      for (unsigned bytes : {1u, 2u, 4u})
        for (AtomOrder order : {AtomOrder::Across, AtomOrder::Along}) {
          // Neither the hardware nor the simulator has 32-bit MN-major
          // operands in other swizzles.
          if (major == Major::MN && bytes == 4 &&
              mode != Swizzle::Bytes128Atom32)
            continue;
          auto tile =
              layout::SmemTile::make(major, mode, bytes, 128, 128, order);
          if (tile.check())
            continue;
          SCOPED_TRACE(testing::Message()
                       << "major " << int(major) << " swizzle " << int(mode)
                       << " element " << bytes << " order " << int(order));
          compareTile(tile, 0);
          compareTile(tile, 32768);
        }
}

TEST(SimulatorAgrees, OnInstructionWords) {
  using layout::Major;
  for (unsigned m : {64u, 128u})
    for (unsigned n = 16; n <= 256; n += 16)
      for (Major a : {Major::K, Major::MN})
        for (Major b : {Major::K, Major::MN}) {
          layout::Instruction i;
          i.m = m;
          i.n = n;
          i.aMajor = a;
          i.bMajor = b;
          auto decoded = ptxsim::decodeInstrDescriptor(
              layout::instructionDescriptor(i), {});
          ASSERT_EQ(decoded.error, std::nullopt);
          EXPECT_EQ(decoded.descriptor.m, m);
          EXPECT_EQ(decoded.descriptor.n, n);
          EXPECT_EQ(decoded.descriptor.majorA, theirs(a));
          EXPECT_EQ(decoded.descriptor.majorB, theirs(b));
          EXPECT_EQ(decoded.descriptor.a, ptxsim::ElementType::BF16);
          EXPECT_EQ(decoded.descriptor.d, ptxsim::ElementType::F32);
        }
}
