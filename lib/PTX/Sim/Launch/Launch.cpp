//===- Launch.cpp - Modules and launches ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Core/Program/Decoder.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"
#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Syntax/Parser.h"

#ifdef FMHA_HAVE_PTX_ASYNC
#include "fmha/PTX/Sim/Async/Async.h"
#endif

#include <cfenv>

using namespace ptxsim;

/// Returns the registry of all families of instructions.
static const Registry &registry() {
  static const Registry kRegistry = [] {
    Registry all;
    registerCore(all);
#ifdef FMHA_HAVE_PTX_ASYNC
    registerAsync(all);
#endif
    return all;
  }();
  return kRegistry;
}

static Dim3 dimensions(const std::vector<uint64_t> &values) {
  Dim3 dim;
  if (values.size() > 0)
    dim.x = uint32_t(values[0]);
  if (values.size() > 1)
    dim.y = uint32_t(values[1]);
  if (values.size() > 2)
    dim.z = uint32_t(values[2]);
  return dim;
}

static void sumShared(const syntax::Block &block, uint64_t &bytes) {
  for (const syntax::Statement &statement : block) {
    for (const syntax::Variable &variable : statement.variables)
      if (variable.space == syntax::Variable::Space::Shared &&
          !variable.isExtern) {
        uint64_t align = alignOf(variable);
        bytes = (bytes + align - 1) / align * align;
        bytes += sizeOf(variable);
      }
    if (statement.scope)
      sumShared(*statement.scope, bytes);
  }
}

/// Describes an entry. `moduleShared` is an upper bound of the shared memory
/// declared outside of functions: only variables that the entry reaches occupy
/// memory at launch.
static Module::Entry describeEntry(const syntax::Function &function,
                                   uint64_t moduleShared) {
  Module::Entry entry;
  entry.name = function.name;
  entry.line = function.line;
  for (const syntax::Variable &parameter : function.parameters)
    entry.parameters.push_back({std::string(parameter.name),
                                uint32_t(sizeOf(parameter)),
                                alignOf(parameter)});
  for (const auto &directive : function.directives) {
    if (directive.name == "reqntid")
      entry.requiredBlock = dimensions(directive.values);
    else if (directive.name == "maxntid")
      entry.maxBlock = dimensions(directive.values);
    else if (directive.name == "reqnctapercluster" &&
             dimensions(directive.values).count())
      // Zeros: the launch gives the cluster.
      entry.requiredCluster = dimensions(directive.values);
    else if (directive.name == "maxnreg")
      entry.maxRegisters = uint32_t(directive.values[0]);
  }
  uint64_t shared = 0;
  sumShared(function.body, shared);
  // A launch rejects more than the hardware has.
  entry.staticSharedBytes =
      uint32_t(std::min<uint64_t>(shared + moduleShared, UINT32_MAX));
  return entry;
}

Module::Module(std::unique_ptr<Impl> self) : self(std::move(self)) {}
Module::Module(Module &&) noexcept = default;
Module &Module::operator=(Module &&) noexcept = default;
Module::~Module() = default;

Module Module::parse(std::string_view text, std::string name) {
  auto self = std::make_unique<Impl>();
  self->tree = syntax::parse(text, name);
  self->target = self->tree->target;
  self->version = self->tree->version;
  uint64_t moduleShared = 0;
  for (const syntax::Variable &variable : self->tree->variables) {
    using Space = syntax::Variable::Space;
    if (variable.space == Space::Global || variable.space == Space::Const)
      self->globals.push_back({std::string(variable.name), sizeOf(variable),
                               alignOf(variable),
                               variable.space == Space::Const});
    if (variable.space == Space::Shared && !variable.isExtern)
      moduleShared += sizeOf(variable);
  }
  for (const syntax::Function &function : self->tree->functions)
    if (function.isEntry && !function.isPrototype)
      self->entries.push_back(describeEntry(function, moduleShared));
  return Module(std::move(self));
}

const std::vector<Module::Entry> &Module::entries() const {
  return self->entries;
}

const Module::Entry *Module::findEntry(std::string_view name) const {
  for (const Entry &entry : self->entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

const std::vector<Module::Global> &Module::globals() const {
  return self->globals;
}

const std::string &Module::target() const { return self->target; }
const std::string &Module::version() const { return self->version; }

static const Program &programOf(const Module &module,
                                const std::string &entry) {
  const Module::Impl &impl = module.impl();
  auto found = impl.programs.find(entry);
  if (found != impl.programs.end())
    return *found->second;
  for (const syntax::Function &function : impl.tree->functions)
    if (function.isEntry && !function.isPrototype && function.name == entry)
      return *(impl.programs[entry] = decode(*impl.tree, function, registry()));
  std::string known;
  for (const Module::Entry &other : module.entries())
    known += (known.empty() ? "" : ", ") + other.name;
  throw Error(Error::Kind::Launch,
              "expected one of the entries " + known + ", got '" + entry + "'");
}

namespace {
/// The default floating-point environment of the host while it lives: a program
/// may have threads that flush denormal numbers to zero, as XLA has, or round
/// otherwise, and instructions are computed by the host's arithmetic.
class DefaultArithmetic {
public:
  DefaultArithmetic() {
    std::fegetenv(&before);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultArithmetic(const DefaultArithmetic &) = delete;
  ~DefaultArithmetic() { std::fesetenv(&before); }

private:
  std::fenv_t before;
};
} // namespace

LaunchResult ptxsim::launch(Device &device, const Module &module,
                            const LaunchConfig &config,
                            const Options &options) {
  DefaultArithmetic arithmetic;
  return Machine(device, programOf(module, config.entry), config, options)
      .run();
}
