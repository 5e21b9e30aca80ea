//===- Program.h - A decoded entry and its callees --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_PROGRAM_PROGRAM_H
#define FMHA_PTX_SIM_CORE_PROGRAM_PROGRAM_H

#include "fmha/PTX/Sim/Core/Program/Instruction.h"
#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Syntax/AST.h"

#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptxsim {

class Registry;

/// Location of a parameter or result of a function: rows of registers, or bytes
/// of the frame's local memory (for an entry: of the parameter bank).
struct Slot {
  bool inRegisters = false;
  uint32_t row = 0, rows = 1;
  uint32_t offset = 0, bytes = 0;
};

/// One decoded function.
struct Code {
  const syntax::Function *function = nullptr;
  std::vector<Instruction> instructions;
  /// The rows that each instruction reads: guard, sources, and addresses, also
  /// those that only its payload has.
  std::vector<std::span<const Operand>> reads;
  /// Register rows and local bytes of a frame.
  uint32_t rows = 0, localBytes = 0;
  std::vector<Slot> parameters, results;
};

/// A .shared variable, for messages: its address in the CTA, 0 if it is the
/// dynamic one.
struct SharedVariable {
  std::string_view name;
  uint32_t address = 0;
  uint64_t bytes = 0;
  bool dynamic = false;
};

/// A constant row whose value is known at launch.
struct Relocation {
  enum class Kind : uint8_t { Global, Shared, DynamicShared };
  Kind kind;
  uint32_t constant;
  std::string_view variable;
  /// Added to the address. For Shared it includes the variable's own offset.
  uint64_t offset;
};

struct Program {
  const syntax::Module *module = nullptr;
  /// Unique code per function, the entry first.
  std::map<const syntax::Function *, std::unique_ptr<Code>> codes;
  const Code *entry = nullptr;
  std::vector<uint64_t> constants;
  std::vector<Relocation> relocations;
  std::vector<SharedVariable> sharedVariables;
  std::deque<std::vector<Operand>> arena;
  std::vector<std::shared_ptr<const void>> payloads;
  /// Bytes of static shared memory from kSharedBase, and the alignment required
  /// for dynamic shared memory.
  uint32_t staticSharedBytes = 0, dynamicAlign = 16;
  uint32_t parameterBytes = 0;
  /// Register rows and local bytes of the deepest call chain.
  uint64_t stackRows = 0, stackLocal = 0;

  /// Decoded functions by address (an index + 1, the value that mov gives for a
  /// function's name).
  std::vector<const Code *> functionTable;
};

/// Decodes `entry` and every function it calls. Throws Error (Unsupported) for
/// a form in reachable code that the registry lacks.
std::unique_ptr<Program> decode(const syntax::Module &module,
                                const syntax::Function &entry,
                                const Registry &registry);

struct Module::Impl {
  std::unique_ptr<syntax::Module> tree;
  std::vector<Entry> entries;
  std::vector<Global> globals;
  std::string target, version;
  /// Decoded entries, filled at launch.
  mutable std::map<std::string, std::unique_ptr<Program>, std::less<>> programs;
};

/// Returns the size and the alignment of a variable in memory.
uint64_t sizeOf(const syntax::Variable &variable);
uint32_t alignOf(const syntax::Variable &variable);
/// Returns the scalar type of a PTX type name ("f32"), Type::None if unknown.
Type typeOf(std::string_view name);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_PROGRAM_PROGRAM_H
