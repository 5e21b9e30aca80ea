/*===- Compiler.h - The attention compiler from C -----------------*- C -*-===*\
|*                                                                            *|
|* Part of the fmha project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Compiles MLIR text, or a problem described in JSON, to PTX, a cubin and a  *|
|* launch manifest. Link with libfmha_compiler.so. All functions may be       *|
|* called concurrently; one result must be used by one thread at a time.      *|
|*                                                                            *|
|* Options are one JSON object, or NULL for none. A key is a flag of          *|
|* fmha-compile without its dashes, with - or _ between words; its value is a *|
|* string, a number or a boolean; a key with the value null is ignored:       *|
|*                                                                            *|
|*   target             "sm_100a" (default), "sm_103a", "sm_90a"              *|
|*   q-tiles, kv-block, p-placement, schedule, ...   parts of the schedule    *|
|*   batch, q-heads, kv-heads, q-len, kv-len, kv-len-mean   the launch to     *|
|*                      plan for: the kernel is correct for others as well    *|
|*   dtype, kv-dtype, head-dim, causal, lse, ...   the problem, if no text    *|
|*                      is given; kv-lens, k-scale and the like are booleans  *|
|*                                                                            *|
|* and                                                                        *|
|*                                                                            *|
|*   cubin      true: assemble the PTX with ptxas                             *|
|*   explain    true: keep the planner's report                               *|
|*   cache      false: do not use the kernel cache                            *|
|*   name       name of the module text in diagnostics ("<module>")           *|
|*   verify-kernels     false: do not verify the IR between levels            *|
|*   verify-registers   true: take a schedule that ptxas does not spill       *|
|*                                                                            *|
|* "fmha-compile --help" lists all flags with their values. Messages name the *|
|* option "head-dim" as that flag, "--head-dim".                              *|
|*                                                                            *|
|* Kernels are kept in the folder that the environment variable               *|
|* FMHA_CACHE_DIR names: see docs/ahead-of-time.md.                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FMHA_C_COMPILER_H
#define FMHA_C_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of one compilation. It owns everything that the accessors return,
   until fmhaResultDestroy(). */
typedef struct FmhaResult FmhaResult;

typedef enum FmhaSeverity {
  FMHA_ERROR = 0,
  FMHA_WARNING = 1,
  FMHA_REMARK = 2,
  FMHA_NOTE = 3
} FmhaSeverity;

typedef struct FmhaDiagnostic {
  FmhaSeverity severity;
  /* "name:line:column" in the module text, "options" if the error is in the
     options, or "". */
  const char *location;
  const char *message;
} FmhaDiagnostic;

/* Compiles the only fmha.attention, fmha.append or fmha.merge of the MLIR
   module `text`, or, if `text` is NULL, the problem that the options describe.
   An append or a merge has no schedule, so it has no report and takes no
   options of the schedule. Returns 0 and a result that is ok, or 1 and a result
   whose diagnostics describe the error. Sets `*result` in both cases. If
   `result` is NULL, returns 1. */
int fmhaCompile(const char *text, const char *options_json,
                FmhaResult **result);
/* Frees a result and everything that its accessors returned. */
void fmhaResultDestroy(FmhaResult *result);

/* Returns whether the compilation succeeded. */
bool fmhaResultOk(const FmhaResult *result);
/* Returns the PTX text, or "" if the compilation failed. */
const char *fmhaResultPtx(const FmhaResult *result);
/* Returns the cubin that ptxas produced, and its size in bytes; NULL and 0
   without the option `cubin`. */
const void *fmhaResultCubin(const FmhaResult *result, size_t *bytes);
/* Returns the launch manifest for fmhaModuleLoad(), or "" if the compilation
   failed. */
const char *fmhaResultManifest(const FmhaResult *result);
/* Returns the planner's report as text, or "" without the option `explain`. */
const char *fmhaResultReport(const FmhaResult *result);
/* Returns whether the kernel was in the cache. */
bool fmhaResultFromCache(const FmhaResult *result);

/* Returns the number of diagnostics, notes included. */
size_t fmhaResultDiagnosticCount(const FmhaResult *result);
/* Returns diagnostic `index`, or an empty note if there is none. Notes follow
   the diagnostic that they belong to. */
FmhaDiagnostic fmhaResultDiagnostic(const FmhaResult *result, size_t index);
/* Returns all diagnostics, one line each: "name:3:8: error: message". */
const char *fmhaResultMessages(const FmhaResult *result);

/* Determines which kernel family supports a problem, without compiling. The
   options describe the problem, or have its MLIR text under the key "module".
   Sets `*json` to the text of an object:

     {"ok": true, "target": "sm_100a", "family": "tcgen05", "reason": "...",
      "schedule": {"q_tiles": "2", ...}}

   `family` is "tcgen05", "wgmma" or "none"; `reason` says why no kernel
   supports the problem if it is "none". Returns 0 if the family was determined,
   "none" included. Returns 1 if the options or the module are invalid:
   {"ok": false, "errors": "..."}. */
int fmhaQuery(const char *options_json, char **json);
/* Frees a string that fmhaQuery() returned. */
void fmhaStringDestroy(char *string);

/* Returns the version of the compiler, "0.1.0". */
const char *fmhaCompilerVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* FMHA_C_COMPILER_H */
