/*===- Dialects.h - Dialects and passes for MLIR's C API ----------*- C -*-===*\
|*                                                                            *|
|* Part of the fmha project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* For programs that build their own pipelines. Link with                     *|
|* libfmha_compiler.so, libMLIR.so 22.1 and MLIR's libMLIRCAPI*.a, which      *|
|* libMLIR.so does not contain.                                               *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FMHA_C_DIALECTS_H
#define FMHA_C_DIALECTS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Declare mlirGetDialectHandle__fmha__() and mlirGetDialectHandle__tile__(). */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(FMHA, fmha);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Tile, tile);

/* Registers both dialects, and the upstream interfaces and translations that
   lowering to PTX needs. */
MLIR_CAPI_EXPORTED void fmhaRegisterAllDialects(MlirDialectRegistry registry);

/* Registers all passes and pipelines of this project, including fmha-to-ptx,
   with the global registry of MLIR. May be called more than once. */
MLIR_CAPI_EXPORTED void fmhaRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif /* FMHA_C_DIALECTS_H */
