//===- dialects.c - Dialects and pipelines through MLIR's C API -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha-c/Dialects.h"
#include "check.h"

#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

static MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

static const char *const text =
    "func.func @f(%q: memref<1x?x4x64xbf16>, %k: memref<1x?x4x64xbf16>,\n"
    "             %v: memref<1x?x4x64xbf16>, %o: memref<1x?x4x64xbf16>) {\n"
    "  fmha.attention ins(%q, %k, %v : memref<1x?x4x64xbf16>,\n"
    "      memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>)\n"
    "      outs(%o : memref<1x?x4x64xbf16>)\n"
    "  return\n"
    "}\n";

struct Printed {
  char *text;
  size_t bytes;
};

static void append(MlirStringRef piece, void *opaque) {
  struct Printed *printed = opaque;
  printed->text = realloc(printed->text, printed->bytes + piece.length + 1);
  CHECK(printed->text != NULL);
  memcpy(printed->text + printed->bytes, piece.data, piece.length);
  printed->bytes += piece.length;
  printed->text[printed->bytes] = 0;
}

static void silence(MlirStringRef message, void *opaque) {
  (void)message;
  (void)opaque;
}

/* The two dialects alone, by their handles. */
static void testHandles(void) {
  CHECK(mlirStringRefEqual(
      mlirDialectHandleGetNamespace(mlirGetDialectHandle__fmha__()),
      ref("fmha")));
  CHECK(mlirStringRefEqual(
      mlirDialectHandleGetNamespace(mlirGetDialectHandle__tile__()),
      ref("tile")));
  MlirContext context = mlirContextCreate();
  mlirDialectHandleRegisterDialect(mlirGetDialectHandle__fmha__(), context);
  CHECK(!mlirContextIsRegisteredOperation(context, ref("fmha.attention")));
  MlirDialect loaded =
      mlirDialectHandleLoadDialect(mlirGetDialectHandle__fmha__(), context);
  CHECK(!mlirDialectIsNull(loaded));
  CHECK(mlirContextIsRegisteredOperation(context, ref("fmha.attention")));
  mlirContextDestroy(context);
}

static MlirContext contextWithAll(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  fmhaRegisterAllDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  return context;
}

static void testPipeline(void) {
  fmhaRegisterAllPasses();
  fmhaRegisterAllPasses();
  MlirContext context = contextWithAll();
  MlirModule module = mlirModuleCreateParse(context, ref(text));
  CHECK(!mlirModuleIsNull(module));
  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirOpPassManager top = mlirPassManagerGetAsOpPassManager(passes);
  CHECK(mlirLogicalResultIsFailure(mlirParsePassPipeline(
      top, ref("builtin.module(fmha-to-ptx{targte=sm_90a})"), silence, NULL)));
  CHECK(mlirLogicalResultIsSuccess(mlirParsePassPipeline(
      top, ref("builtin.module(fmha-to-ptx{target=sm_90a})"), silence, NULL)));
  MlirOperation op = mlirModuleGetOperation(module);
  CHECK(mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(passes, op)));
  struct Printed printed = {NULL, 0};
  mlirOperationPrint(op, append, &printed);
  CHECK_HAS(printed.text, "gpu.binary @");
  CHECK_HAS(printed.text, ".target sm_90a");
  free(printed.text);
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
}

int main(void) {
  testHandles();
  testPipeline();
  puts("all checks passed");
  return 0;
}
