//===- SimulatorAgreesTest.cpp - Atoms executed by the simulator ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator's fragment maps were written from the PTX manual and share no
// code with the atoms. Here registers and shared memory are filled through the
// layouts of each atom, the simulator executes its instruction, and the result
// is read through them.
//
//===----------------------------------------------------------------------===//

#include "../../PTX/Sim/Async/Kernel.h"
#include "fmha/Layout/Algebra/CopyAtoms.h"
#include "fmha/Layout/Algebra/MmaAtoms.h"
#include "fmha/Layout/Algebra/TmemFragments.h"
#include "fmha/PTX/Sim/Units/SmallFloat.h"
#include "fmha/PTX/Sim/Units/TmemMap.h"

#include <bit>
#include <random>

using namespace fmha::layout::algebra;
using namespace ptxsim;
using namespace ptxsim::test;
using algebra_operand = fmha::layout::algebra::Operand;

namespace {

using Words = std::vector<uint32_t>;

int64_t at(const Layout &layout, int64_t thread, int64_t value) {
  return layout(IntTuple::tuple({thread, value}));
}

std::string listOf(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", %r" : "%r") + std::to_string(first + i);
  return text + "}";
}

/// A kernel whose threads hold words: %r100.. are loaded from a buffer before
/// `body`, %r300.. are stored afterwards, and the image is in shared memory.
struct Probe {
  unsigned threads = 32, loads = 0, stores = 0;
  std::string body = {}, target = "sm_90a";
  Words registers = {}, image = {};
  /// The words of shared memory afterwards.
  Words shared = {};

  /// Returns `stores` words of each thread.
  Words run();

private:
  std::string text() const;
};

/// Returns code that moves `count` words of shared memory, in steps of all
/// threads: from the buffer, or to it.
std::string moveShared(const char *buffer, unsigned count, unsigned threads,
                       bool in) {
  std::string code = std::string("ld.param.u64 %q0, [") + buffer + "];\n";
  for (unsigned first = 0; first < count; first += threads)
    code += "add.u32 %r3, %r0, " + std::to_string(first) +
            ";\nsetp.lt.u32 %p0, %r3, " + std::to_string(count) +
            ";\nmul.wide.u32 %q1, %r3, 4;\nadd.u64 %q1, %q1, %q0;\n"
            "shl.b32 %r4, %r3, 2;\nadd.u32 %r4, %r4, %r2;\n" +
            (in ? "@%p0 ld.global.b32 %r5, [%q1];\n"
                  "@%p0 st.shared.b32 [%r4], %r5;\n"
                : "@%p0 ld.shared.b32 %r5, [%r4];\n"
                  "@%p0 st.global.b32 [%q1], %r5;\n");
  return code;
}

std::string moveRegisters(const char *buffer, unsigned first, unsigned count,
                          bool in) {
  std::string code = std::string("ld.param.u64 %q2, [") + buffer +
                     "];\nmul.wide.u32 %q3, %r0, " + std::to_string(4 * count) +
                     ";\nadd.u64 %q2, %q2, %q3;\n";
  for (unsigned i = 0; i < count; ++i) {
    std::string word = "[%q2+" + std::to_string(4 * i) + "]",
                name = "%r" + std::to_string(first + i);
    code += in ? "ld.global.b32 " + name + ", " + word + ";\n"
               : "st.global.b32 " + word + ", " + name + ";\n";
  }
  return code;
}

std::string Probe::text() const {
  unsigned words = unsigned(image.size());
  return kernelText(
      ".param .u64 registers, .param .u64 image, .param .u64 out, "
      ".param .u64 after",
      moveShared("image", words, threads, true) +
          moveRegisters("registers", 100, loads, true) +
          "fence.proxy.async.shared::cta;\nbar.sync 0;\n" + body +
          "bar.sync 0;\n" + moveRegisters("out", 300, stores, false) +
          moveShared("after", words, threads, false),
      "", target);
}

Words Probe::run() {
  Device device;
  KernelRun kernel;
  kernel.text = text();
  kernel.threads = threads;
  auto buffer = [&](const Words &words) {
    uint64_t address = device.allocate(std::max<size_t>(words.size(), 1) * 4);
    device.write(address, std::as_bytes(std::span(words)));
    kernel.parameters.push_back(bytesOf(address));
    return address;
  };
  Words out(threads * stores);
  shared.resize(image.size());
  buffer(registers);
  buffer(image);
  uint64_t outAt = buffer(out), sharedAt = buffer(shared);
  LaunchResult result = launchOn(device, kernel);
  EXPECT_EQ(result.status, Status::Ok) << textOf(result);
  device.read(outAt, std::as_writable_bytes(std::span(out)));
  device.read(sharedAt, std::as_writable_bytes(std::span(shared)));
  return out;
}

/// Elements of `bits` in words, the lowest bits first.
void setElement(Words &words, int64_t index, int64_t bits, uint32_t code) {
  int64_t per = 32 / bits;
  words.at(index / per) |= code << (index % per * bits);
}

uint32_t elementOf(const Words &words, int64_t index, int64_t bits) {
  int64_t per = 32 / bits;
  uint32_t word = words.at(index / per) >> (index % per * bits);
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

TEST(SimulatorAgrees, OnMatrixLoads) {
  for (const std::string &name : copyAtomNames()) {
    if (!name.starts_with("ldmatrix"))
      continue;
    SCOPED_TRACE(name);
    CopyAtom atom = copyAtom(name);
    unsigned count = unsigned(atom.bits() / 32);
    Probe probe{.loads = 1, .stores = count};
    for (int64_t lane = 0; lane < 32; ++lane)
      probe.registers.push_back(uint32_t(at(atom.source, lane, 0) / 8));
    probe.image.resize(count * 32);
    for (int64_t i = 0; i < int64_t(count) * 64; ++i)
      setElement(probe.image, i, 16, uint32_t(i));
    probe.body = "add.u32 %r100, %r100, %r2;\n" + atom.ptx + " " +
                 listOf(300, count) + ", [%r100];\n";
    Words out = probe.run();
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < 2 * count; ++i)
        ASSERT_EQ(elementOf(out, lane * 2 * count + i, 16),
                  at(atom.destination, lane, 16 * i) / 16)
            << "lane " << lane << " value " << i;
  }
}

TEST(SimulatorAgrees, OnMatrixStores) {
  for (const std::string &name : copyAtomNames()) {
    if (!name.starts_with("stmatrix"))
      continue;
    SCOPED_TRACE(name);
    CopyAtom atom = copyAtom(name);
    unsigned count = unsigned(atom.bits() / 32);
    Probe probe{.loads = count + 1};
    probe.registers.resize(32 * (count + 1));
    probe.image.resize(count * 32);
    for (int64_t lane = 0; lane < 32; ++lane) {
      int64_t first = lane * (count + 1);
      probe.registers[first] = uint32_t(at(atom.destination, lane, 0) / 8);
      for (int64_t i = 0; i < 2 * count; ++i)
        setElement(probe.registers, 2 * (first + 1) + i, 16,
                   uint32_t(at(atom.source, lane, 16 * i) / 16));
    }
    probe.body = "add.u32 %r100, %r100, %r2;\n" + atom.ptx + " [%r100], " +
                 listOf(101, count) + ";\n";
    probe.run();
    for (int64_t i = 0; i < int64_t(count) * 64; ++i)
      ASSERT_EQ(elementOf(probe.shared, i, 16), uint32_t(i));
  }
}

/// Small integers, which every type holds and every sum keeps exact.
struct Matrix {
  int64_t rows, columns;
  std::vector<int> values;

  Matrix(int64_t rows, int64_t columns, std::mt19937 *generator = nullptr)
      : rows(rows), columns(columns), values(rows * columns) {
    for (int &value : values)
      value = generator ? int((*generator)() % 4) : 0;
  }
  /// Element `index`, counted with the first extent fastest.
  int &operator[](int64_t index) { return values.at(index); }
};

/// The code of a small integer in the type at the end of an atom's name.
uint32_t codeOf(const std::string &type, int value) {
  if (type == "f16")
    return encodeF16(value);
  if (type == "bf16")
    return encodeBF16(value);
  if (type == "tf32")
    return std::bit_cast<uint32_t>(float(value));
  if (type == "s8" || type == "u8")
    return uint32_t(value);
  auto element = type == "e4m3" ? ElementType::E4M3 : ElementType::E5M2;
  for (uint32_t code = 0; code < 128; ++code)
    if (decodeElement(element, code) == float(value))
      return code;
  ADD_FAILURE() << "no code of " << value << " in " << type;
  return 0;
}

/// The parts of "mma_m16n8k16_f32_bf16".
struct Name {
  std::string result, source;
  bool registers;

  explicit Name(const std::string &name) {
    size_t first = name.find('_', name.find('m', 4)),
           second = name.find('_', first + 1);
    size_t end = std::min(name.find('_', second + 1), name.size());
    result = name.substr(first + 1, second - first - 1);
    source = name.substr(second + 1, end - second - 1);
    registers = end != name.size();
  }
};

/// Appends the words of a fragment of each thread.
void fill(Words &registers, size_t stride, size_t first, const Layout &layout,
          Matrix &matrix, const std::string &type, int64_t bits) {
  int64_t per = 32 / bits;
  for (int64_t thread = 0; thread < layout.size(0); ++thread)
    for (int64_t value = 0; value < layout.size(1); ++value)
      setElement(registers, int64_t(thread * stride + first) * per + value,
                 bits, codeOf(type, matrix[at(layout, thread, value)]));
}

/// Compares the words of C that a kernel stored with A times B transposed.
void compareProduct(const MmaAtom &atom, const Name &name, Matrix &a, Matrix &b,
                    const Words &out) {
  auto [m, n, k] = atom.shape;
  const Layout &c = atom.operand(algebra_operand::C);
  int64_t bits = name.result == "f16" ? 16 : 32;
  for (int64_t thread = 0; thread < c.size(0); ++thread)
    for (int64_t value = 0; value < c.size(1); ++value) {
      int64_t index = at(c, thread, value), row = index % m, column = index / m;
      int expected = 0;
      for (int64_t i = 0; i < k; ++i)
        expected += a[row + i * m] * b[column + i * n];
      uint32_t got = elementOf(out, thread * c.size(1) + value, bits);
      double number = name.result == "f16"
                          ? decodeElement(ElementType::F16, got)
                      : name.result == "f32" ? std::bit_cast<float>(got)
                                             : int32_t(got);
      ASSERT_EQ(number, expected) << "thread " << thread << " value " << value;
    }
}

size_t wordsOf(const Layout &layout, int64_t bits) {
  return size_t(layout.size(1) * bits / 32);
}

TEST(SimulatorAgrees, OnProductsOfWarps) {
  std::mt19937 generator(20261128);
  for (const std::string &text : mmaAtomNames()) {
    if (!text.starts_with("mma"))
      continue;
    SCOPED_TRACE(text);
    MmaAtom atom = mmaAtom(text);
    Name name(text);
    auto [m, n, k] = atom.shape;
    Matrix a(m, k, &generator), b(n, k, &generator);
    const Layout &inA = atom.operand(algebra_operand::A),
                 &inB = atom.operand(algebra_operand::B);
    size_t wordsA = wordsOf(inA, atom.bits), wordsB = wordsOf(inB, atom.bits);
    unsigned results = name.result == "f16" ? 2 : 4;
    Probe probe{.loads = unsigned(wordsA + wordsB), .stores = results};
    probe.registers.resize(32 * probe.loads);
    fill(probe.registers, probe.loads, 0, inA, a, name.source, atom.bits);
    fill(probe.registers, probe.loads, wordsA, inB, b, name.source, atom.bits);
    for (unsigned i = 0; i < results; ++i)
      probe.body += "mov.b32 %r" + std::to_string(200 + i) + ", 0;\n";
    probe.body += atom.ptx + " " + listOf(300, results) + ", " +
                  listOf(100, unsigned(wordsA)) + ", " +
                  listOf(100 + unsigned(wordsA), unsigned(wordsB)) + ", " +
                  listOf(200, results) + ";\n";
    compareProduct(atom, name, a, b, probe.run());
  }
}

/// Writes an operand with K innermost and no swizzle: 8 rows of 16 bytes after
/// each other, the second half of K 128 bytes on, the next 8 rows 256.
void place(Words &image, int64_t start, Matrix &matrix, const std::string &type,
           int64_t bits) {
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column) {
      int64_t byte = column * bits / 8;
      int64_t offset =
          start + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
      setElement(image, offset * 8 / bits, bits,
                 codeOf(type, matrix[row + column * matrix.rows]));
    }
}

std::string descriptorOf(const char *to, int64_t offset) {
  return "add.u32 %r7, %r2, " + std::to_string(offset) +
         ";\nshr.u32 %r7, %r7, 4;\nand.b32 %r7, %r7, 0x3fff;\ncvt.u64.u32 " +
         to + ", %r7;\nor.b64 " + to + ", " + to + ", 0x0000001000080000;\n";
}

/// Returns the instruction: scales for floats, transpositions for 16 bits.
std::string issue(const MmaAtom &atom, const Name &name, unsigned results) {
  bool integers = name.result == "s32", half = atom.bits == 16;
  std::string a = name.registers ? listOf(100, 4) : "%q4";
  return "wgmma.fence.sync.aligned;\n" + atom.ptx + " " + listOf(300, results) +
         ", " + a + ", %q5, 0" + (integers ? "" : ", 1, 1") +
         (!half            ? ""
          : name.registers ? ", 0"
                           : ", 0, 0") +
         ";\nwgmma.commit_group.sync.aligned;\n"
         "wgmma.wait_group.sync.aligned 0;\n";
}

void compareGroup(const std::string &text, std::mt19937 &generator) {
  SCOPED_TRACE(text);
  constexpr int64_t startOfB = 4096;
  MmaAtom atom = mmaAtom(text);
  Name name(text);
  auto [m, n, k] = atom.shape;
  Matrix a(m, k, &generator), b(n, k, &generator);
  unsigned results = unsigned(n / (name.result == "f16" ? 4 : 2));
  Probe probe{
      .threads = 128, .loads = name.registers ? 4u : 0u, .stores = results};
  probe.image.resize((startOfB + n * 32) / 4);
  place(probe.image, 0, a, name.source, atom.bits);
  place(probe.image, startOfB, b, name.source, atom.bits);
  probe.registers.resize(128 * probe.loads);
  if (name.registers)
    fill(probe.registers, probe.loads, 0, atom.operand(algebra_operand::A), a,
         name.source, atom.bits);
  probe.body = descriptorOf("%q4", 0) + descriptorOf("%q5", startOfB) +
               issue(atom, name, results);
  compareProduct(atom, name, a, b, probe.run());
}

TEST(SimulatorAgrees, OnProductsOfWarpgroups) {
  std::mt19937 generator(20261128);
  for (const std::string &text : mmaAtomNames()) {
    size_t at = text.find("nN");
    if (at == text.npos)
      continue;
    for (const char *n : {"n8", "n64", "n256"}) {
      std::string name = text;
      compareGroup(name.replace(at, 2, n), generator);
    }
  }
  for (int n = 16; n <= 248; n += 8)
    compareGroup("wgmma_m64n" + std::to_string(n) + "k16_f32_bf16_rs",
                 generator);
}

TEST(SimulatorAgrees, OnRegistersOfTensorMemory) {
  for (const std::string &name : tmemFragmentNames()) {
    SCOPED_TRACE(name);
    ThreadValue fragment = tmemFragment(name);
    size_t shape = std::string("tcgen05_ld_").size(), x = name.rfind("_x");
    TmemAccess access{parseTmemShape(name.substr(shape, x - shape)).value(),
                      uint32_t(std::stoul(name.substr(x + 2)))};
    ASSERT_EQ(fragment.values(), access.registers());
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t r = 0; r < access.registers(); ++r) {
        IntTuple cell = fragment.coordinate(t, r);
        ASSERT_EQ(access.cell(t, r),
                  (TmemCell{uint32_t(cell.mode(0).value()),
                            uint32_t(cell.mode(1).value())}));
      }
  }
}

} // namespace
