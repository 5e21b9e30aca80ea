//===- EmbeddedHeader.cpp - Kernels in C headers ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmbeddedFunctions.h"
#include "fmha/Pipeline/Embedded/AheadOfTime.h"
#include "fmha/Version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fmha;

using Parameter = EmbeddedFunction::Parameter;

static constexpr Parameter workspaceParameters[] = {
    {"const DLTensor *const *", "tensors", false},
    {"size_t ", "count", true},
    {"uint64_t *", "bytes", false}};
static constexpr Parameter launchParameters[] = {
    {"const DLTensor *const *", "tensors", false},
    {"size_t ", "count", true},
    {"void *", "workspace", false},
    {"struct CUstream_st *", "stream", false}};

static constexpr Parameter nameParameters[] = {{"size_t ", "index", true}};

static constexpr EmbeddedFunction functions[] = {
    {"", "int ", "fmhaEmbeddedLaunch", true, launchParameters,
     "Launches the kernel on `stream` with device tensors in the order of\n"
     "   _tensor_name(), and does not wait for it. `workspace` is device "
     "memory of\n"
     "   _workspace_bytes() bytes, NULL for 0. Returns 0, or an error number "
     "(the\n"
     "   FmhaStatus of fmha-c/Runtime.h); _last_error() has the message."},
    {"_workspace_bytes", "int ", "fmhaEmbeddedWorkspaceBytes", true,
     workspaceParameters,
     "Writes the size of the workspace that a launch needs to `bytes`."},
    {"_tensor_name", "const char *", "fmhaEmbeddedTensorName", true,
     nameParameters,
     "Returns the name of tensor `index` of a launch, NULL if there is\n"
     "   none."},
    {"_load",
     "int ",
     "fmhaEmbeddedLoad",
     true,
     {},
     "Loads the kernel for the device of the current context, which otherwise\n"
     "   the first launch does. Call it before a stream is captured."},
    {"_unload",
     "int ",
     "fmhaEmbeddedUnload",
     true,
     {},
     "Unloads the kernel from the current context."},
    {"_last_error",
     "const char *",
     "fmhaEmbeddedLastError",
     false,
     {},
     "Returns the message of the last failure in this thread."}};

ArrayRef<EmbeddedFunction> fmha::embeddedFunctions() { return functions; }

/// Returns whether C and C++ programs cannot define `name`: keywords, and
/// `main`. The launcher's functions have the prefix fmha.
static bool isReserved(StringRef name) {
  static const StringSet<> words = {
      "alignas",   "alignof",      "and",          "and_eq",    "asm",
      "auto",      "bitand",       "bitor",        "bool",      "break",
      "case",      "catch",        "char",         "class",     "compl",
      "concept",   "const",        "consteval",    "constexpr", "constinit",
      "continue",  "co_await",     "co_return",    "co_yield",  "decltype",
      "default",   "delete",       "do",           "double",    "else",
      "enum",      "explicit",     "export",       "extern",    "false",
      "float",     "for",          "friend",       "goto",      "if",
      "inline",    "int",          "long",         "main",      "mutable",
      "namespace", "new",          "noexcept",     "not",       "not_eq",
      "nullptr",   "operator",     "or",           "or_eq",     "private",
      "protected", "public",       "register",     "requires",  "restrict",
      "return",    "short",        "signed",       "sizeof",    "static",
      "struct",    "switch",       "template",     "this",      "throw",
      "true",      "try",          "typedef",      "typeid",    "typename",
      "typeof",    "union",        "unsigned",     "using",     "virtual",
      "void",      "volatile",     "wchar_t",      "while",     "xor",
      "xor_eq",    "thread_local", "static_assert"};
  return words.contains(name) || name.starts_with("fmhaEmbedded") ||
         (name.starts_with("_") && name.size() > 1 &&
          (name[1] == '_' || isUpper(name[1])));
}

Error fmha::checkFunctionName(const std::string &name) {
  if (isReserved(name))
    return createStringError("expected a name that C and C++ programs may "
                             "define, got '" +
                             Twine(name) +
                             "', which is reserved; choose another one");
  auto isFirst = [](char c) { return isAlpha(c) || c == '_'; };
  if (!name.empty() && isFirst(name[0]) &&
      all_of(name, [&](char c) { return isFirst(c) || isDigit(c); }))
    return Error::success();
  return createStringError("expected the name of a C function, letters, digits "
                           "and _ that begin with no digit, got '" +
                           Twine(name) + "'");
}

/// Returns the declaration of `function` without a semicolon.
static std::string prototype(const EmbeddedFunction &function,
                             const std::string &name) {
  std::string parameters;
  for (const Parameter &parameter : function.parameters)
    parameters += (parameters.empty() ? "" : ", ") + parameter.type.str() +
                  parameter.name.str();
  return function.result.str() + name + function.suffix.str() + "(" +
         (parameters.empty() ? "void" : parameters) + ")";
}

static std::string targetsOf(const EmbeddedKernel &kernel) {
  return join(
      map_range(kernel.images,
                [](const EmbeddedImage &image) { return image.target; }),
      ", ");
}

/// Returns `body` with the common beginning and end of a header.
static std::string wrap(const EmbeddedKernel &kernel, StringRef include,
                        const std::string &body) {
  return formatv("/* Attention for {0}, by fmha " FMHA_VERSION ". */\n\n"
                 "#ifndef FMHA_KERNEL_{1}_H\n#define FMHA_KERNEL_{1}_H\n\n"
                 "{2}\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
                 "{3}#ifdef __cplusplus\n}\n#endif\n\n"
                 "#endif /* FMHA_KERNEL_{1}_H */\n",
                 targetsOf(kernel), kernel.function, include, body)
      .str();
}

std::string fmha::embeddedDeclarations(const EmbeddedKernel &kernel) {
  std::string text = "/* CUstream of the CUDA driver points to one. */\n"
                     "struct CUstream_st;\n\n";
  for (const EmbeddedFunction &function : functions)
    text += "/* " + function.comment.str() + " */\n" +
            prototype(function, kernel.function) + ";\n\n";
  return wrap(kernel,
              "#include \"fmha-c/DLPack.h\"\n\n#include <stddef.h>\n#include "
              "<stdint.h>\n",
              text);
}

/// Returns the definition of an array of bytes that ends with a NUL.
static std::string bytesOf(const std::string &name, StringRef bytes) {
  std::string text = "static const unsigned char " + name +
                     "[] __attribute__((aligned(64))) = {";
  for (size_t i = 0; i < bytes.size(); ++i) {
    text += i % 20 ? "" : "\n";
    text += utostr(static_cast<unsigned char>(bytes[i]));
    text += ',';
  }
  return text + "0};\n\n";
}

static std::string imageText(const EmbeddedImage &image,
                             const std::string &prefix) {
  auto [major, minor] = image.capability();
  std::string cubin = image.cubin.empty() ? "NULL" : prefix + "_cubin";
  return formatv("  {{{0}u, {1}u, \"{2}\", {3}, {4}u, (const char *){5}_ptx, "
                 "{6}u,\n   (const char *){5}_manifest},\n",
                 major, minor, image.target, cubin, image.cubin.size(), prefix,
                 image.ptx.size())
      .str();
}

/// Returns the definition of `function`, which calls its callee.
static std::string definition(const EmbeddedFunction &function,
                              const std::string &name) {
  SmallVector<std::string> arguments;
  if (function.takesKernel)
    arguments.push_back("&" + name + "_kernel");
  for (const Parameter &parameter : function.parameters)
    arguments.push_back(parameter.name.str());
  return formatv("/* {0} */\nstatic inline {1} {{\n  return {2}({3});\n}\n\n",
                 function.comment, prototype(function, name), function.callee,
                 join(arguments, ", "))
      .str();
}

std::string fmha::embeddedHeader(const EmbeddedKernel &kernel) {
  std::string text, table;
  for (const EmbeddedImage &image : kernel.images) {
    std::string prefix = kernel.function + "_" + image.target;
    if (!image.cubin.empty())
      text += bytesOf(prefix + "_cubin", image.cubin);
    text += bytesOf(prefix + "_ptx", image.ptx);
    text += bytesOf(prefix + "_manifest", image.manifest);
    table += imageText(image, prefix);
  }
  text += formatv("static const FmhaEmbeddedImage {0}_images[] = {{\n{1}};\n\n"
                  "static FmhaEmbeddedKernel {0}_kernel = {{\"{0}\", {2}u, "
                  "{0}_images, NULL};\n\n",
                  kernel.function, table, kernel.images.size());
  for (const EmbeddedFunction &function : functions)
    text += definition(function, kernel.function);
  return wrap(kernel, "#include \"fmha-c/Embedded.h\"\n", text);
}
