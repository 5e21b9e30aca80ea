//===- EmbeddedObject.cpp - Kernels in object files ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmbeddedFunctions.h"
#include "Process.h"
#include "fmha/Pipeline/Embedded/AheadOfTime.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <cstdlib>
#include <mutex>

using namespace llvm;
using namespace fmha;

std::pair<unsigned, unsigned> EmbeddedImage::capability() const {
  unsigned digits = 0;
  StringRef name = target;
  name.consume_front("sm_");
  name.consumeInteger(10, digits);
  return {digits / 10, digits % 10};
}

namespace {

/// Writes the structures of include/fmha-c/Embedded.h, and the functions.
class ObjectBuilder {
public:
  ObjectBuilder(Module &module)
      : module(module), builder(module.getContext()),
        pointer(builder.getPtrTy()), size(builder.getInt64Ty()) {}

  void build(const EmbeddedKernel &kernel);

private:
  Constant *bytes(StringRef text, Align alignment = Align(1));
  Constant *image(const EmbeddedImage &image);
  GlobalVariable *table(const EmbeddedKernel &kernel);
  void define(const EmbeddedFunction &function, const std::string &name,
              Constant *kernel);

  Module &module;
  IRBuilder<> builder;
  PointerType *pointer;
  IntegerType *size;
};

} // namespace

/// Returns `text` and a NUL in read-only memory.
Constant *ObjectBuilder::bytes(StringRef text, Align alignment) {
  Constant *data = ConstantDataArray::getString(module.getContext(), text);
  auto *global =
      new GlobalVariable(module, data->getType(), /*isConstant=*/true,
                         GlobalValue::PrivateLinkage, data);
  global->setAlignment(alignment);
  return global;
}

/// Returns an FmhaEmbeddedImage.
Constant *ObjectBuilder::image(const EmbeddedImage &image) {
  auto [major, minor] = image.capability();
  Constant *cubin = image.cubin.empty() ? ConstantPointerNull::get(pointer)
                                        : bytes(image.cubin, Align(64));
  return ConstantStruct::getAnon(
      {builder.getInt32(major), builder.getInt32(minor), bytes(image.target),
       cubin, builder.getInt64(image.cubin.size()), bytes(image.ptx),
       builder.getInt64(image.ptx.size()), bytes(image.manifest)});
}

/// Defines the FmhaEmbeddedKernel.
GlobalVariable *ObjectBuilder::table(const EmbeddedKernel &kernel) {
  std::vector<Constant *> images;
  for (const EmbeddedImage &entry : kernel.images)
    images.push_back(image(entry));
  auto *type = ArrayType::get(images.front()->getType(), images.size());
  auto *list = new GlobalVariable(module, type, /*isConstant=*/true,
                                  GlobalValue::PrivateLinkage,
                                  ConstantArray::get(type, images));
  Constant *all = ConstantStruct::getAnon(
      {bytes(kernel.function), builder.getInt64(images.size()), list,
       ConstantPointerNull::get(pointer)});
  return new GlobalVariable(module, all->getType(), /*isConstant=*/false,
                            GlobalValue::InternalLinkage, all,
                            kernel.function + "_kernel");
}

/// Defines a function that calls its callee and returns its result.
void ObjectBuilder::define(const EmbeddedFunction &function,
                           const std::string &name, Constant *kernel) {
  Type *result = function.result == "int " ? (Type *)builder.getInt32Ty()
                                           : (Type *)pointer;
  SmallVector<Type *> taken, passed;
  if (function.takesKernel)
    passed.push_back(pointer);
  for (const EmbeddedFunction::Parameter &parameter : function.parameters)
    taken.push_back(parameter.isSize ? (Type *)size : (Type *)pointer);
  passed.append(taken);
  auto *entry = Function::Create(FunctionType::get(result, taken, false),
                                 GlobalValue::ExternalLinkage,
                                 name + function.suffix, module);
  FunctionCallee callee = module.getOrInsertFunction(
      function.callee, FunctionType::get(result, passed, false));
  SmallVector<Value *> arguments;
  if (function.takesKernel)
    arguments.push_back(kernel);
  for (Argument &argument : entry->args())
    arguments.push_back(&argument);
  builder.SetInsertPoint(BasicBlock::Create(module.getContext(), "", entry));
  builder.CreateRet(builder.CreateCall(callee, arguments));
}

void ObjectBuilder::build(const EmbeddedKernel &kernel) {
  Constant *all = table(kernel);
  for (const EmbeddedFunction &function : embeddedFunctions())
    define(function, kernel.function, all);
}

static Expected<std::unique_ptr<TargetMachine>> hostMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  Triple triple(sys::getDefaultTargetTriple());
  std::string why;
  const Target *target = TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return createStringError("cannot write an object file for this machine: " +
                             why);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, "generic", "", TargetOptions(), Reloc::PIC_));
}

Expected<std::string> fmha::embeddedObject(const EmbeddedKernel &kernel) {
  auto machine = hostMachine();
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  Module module(kernel.function, context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  ObjectBuilder(module).build(kernel);
  SmallString<0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::ObjectFile))
    return createStringError("LLVM writes no object files for this machine");
  passes.run(module);
  return object.str().str();
}

//===----------------------------------------------------------------------===//
// External programs
//===----------------------------------------------------------------------===//

/// Returns the C++ compiler that links, and its first arguments: the value of
/// CXX, "g++" or "ccache g++", or if that is empty, a usual name on the PATH.
static Expected<std::vector<std::string>> findLinker() {
  StringRef named = std::getenv("CXX") ? std::getenv("CXX") : "";
  SmallVector<StringRef> words, names = {"c++", "clang++", "g++"};
  named.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (!words.empty())
    names = {words.front()};
  for (StringRef name : names)
    if (ErrorOr<std::string> found = sys::findProgramByName(name)) {
      std::vector<std::string> command = {*found};
      for (StringRef word : drop_begin(words, words.empty() ? 0 : 1))
        command.push_back(word.str());
      return command;
    }
  if (words.empty())
    return createStringError(
        "a shared library needs a C++ compiler to link it: expected c++, "
        "clang++ or g++ on the PATH or one named by CXX, got none; "
        "--emit=object works without");
  return createStringError("expected CXX to name a C++ compiler on the PATH, "
                           "got '" +
                           named + "'; unset it, or use --emit=object");
}

static Error failed(StringRef what, const std::string &log) {
  return createStringError(what + ":\n" + log);
}

Expected<std::string> fmha::linkEmbedded(const EmbeddedKernel &kernel,
                                         const std::string &object,
                                         const std::string &launcher,
                                         const std::string &soname) {
  Expected<std::vector<std::string>> linker = findLinker();
  if (!linker)
    return linker.takeError();
  Scratch input("o"), exports("map"), output("so");
  input.write(object);
  // Each library exports only its functions, so that the launchers that two of
  // them contain do not clash.
  exports.write("{ global: " + kernel.function + "; " + kernel.function +
                "_*; local: *; };\n");
  if (auto problem = scratchProblem({&input, &exports, &output}))
    return createStringError(*problem);
  std::vector<std::string> arguments = {"-shared",
                                        "-static-libstdc++",
                                        "-static-libgcc",
                                        "-o",
                                        output.path.str().str(),
                                        input.path.str().str(),
                                        launcher,
                                        "-Wl,--version-script=" +
                                            exports.path.str().str(),
                                        "-Xlinker",
                                        "-soname",
                                        "-Xlinker",
                                        soname,
                                        "-Wl,--gc-sections",
                                        "-Wl,--no-undefined",
                                        "-ldl",
                                        "-pthread"};
  arguments.insert(arguments.begin(), linker->begin() + 1, linker->end());
  ProgramOutcome outcome = runProgram(linker->front(), arguments);
  if (outcome.code)
    return failed(join(*linker, " ") + " cannot link the shared library",
                  outcome.log);
  return output.read();
}

Expected<std::string> fmha::fatBinary(const EmbeddedKernel &kernel) {
  ErrorOr<std::string> program = sys::findProgramByName("fatbinary");
  if (!program)
    return createStringError(
        "a fat binary needs CUDA's fatbinary: expected it on the PATH, got "
        "none; --emit=object, so and header work without");
  Scratch output("fatbin");
  std::vector<std::unique_ptr<Scratch>> files;
  // Uncompressed, so that readers other than NVIDIA's accept it.
  std::vector<std::string> line = {"--64", "--compress=false",
                                   "--create=" + output.path.str().str()};
  SmallVector<const Scratch *> made = {&output};
  auto add = [&](StringRef kind, StringRef target, StringRef bytes) {
    files.push_back(std::make_unique<Scratch>(kind));
    files.back()->write(bytes);
    made.push_back(files.back().get());
    target.consume_front("sm_");
    line.push_back(("--image3=kind=" + kind + ",sm=" + target +
                    ",file=" + files.back()->path)
                       .str());
  };
  for (const EmbeddedImage &image : kernel.images) {
    if (!image.cubin.empty())
      add("elf", image.target, image.cubin);
    add("ptx", image.target, image.ptx);
  }
  if (auto problem = scratchProblem(made))
    return createStringError(*problem);
  ProgramOutcome outcome = runProgram(*program, line);
  if (outcome.code)
    return failed("fatbinary rejects the images", outcome.log);
  return output.read();
}
