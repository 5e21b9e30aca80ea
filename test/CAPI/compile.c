//===- compile.c - The compiler from C ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "check.h"
#include "fmha-c/Compiler.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static const char *const text =
    "func.func @f(%q: memref<1x?x4x64xbf16>, %k: memref<1x?x4x64xbf16>,\n"
    "             %v: memref<1x?x4x64xbf16>, %o: memref<1x?x4x64xbf16>) {\n"
    "  fmha.attention ins(%q, %k, %v : memref<1x?x4x64xbf16>,\n"
    "      memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>)\n"
    "      outs(%o : memref<1x?x4x64xbf16>)\n"
    "  return\n"
    "}\n";

static const char *const merge =
    "func.func @f(%o: memref<?x1x?x4x64xf32>, %m: memref<?x1x4x?xf32>,\n"
    "             %s: memref<?x1x4x?xf32>, %out: memref<1x?x4x64xbf16>) {\n"
    "  fmha.merge ins(%o, %m, %s : memref<?x1x?x4x64xf32>,\n"
    "      memref<?x1x4x?xf32>, memref<?x1x4x?xf32>)\n"
    "      outs(%out : memref<1x?x4x64xbf16>)\n"
    "  return\n"
    "}\n";

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

static FmhaResult *compiled(const char *module, const char *options) {
  FmhaResult *result = NULL;
  if (fmhaCompile(module, options, &result) != 0) {
    printf("%s\n", fmhaResultMessages(result));
    exit(1);
  }
  CHECK(fmhaResultOk(result));
  return result;
}

/* The one diagnostic of a compilation that must fail. */
static void fails(const char *module, const char *options, const char *location,
                  const char *message) {
  FmhaResult *result = NULL;
  CHECK(fmhaCompile(module, options, &result) == 1);
  CHECK(!fmhaResultOk(result));
  CHECK(fmhaResultDiagnosticCount(result) >= 1);
  FmhaDiagnostic first = fmhaResultDiagnostic(result, 0);
  CHECK(first.severity == FMHA_ERROR);
  CHECK_HAS(first.location, location);
  CHECK_HAS(first.message, message);
  CHECK_HAS(fmhaResultMessages(result), message);
  CHECK(strcmp(fmhaResultPtx(result), "") == 0);
  CHECK(strcmp(fmhaResultManifest(result), "") == 0);
  fmhaResultDestroy(result);
}

static void testText(void) {
  FmhaResult *result = compiled(text, NULL);
  CHECK_HAS(fmhaResultPtx(result), ".target sm_100a");
  CHECK_HAS(fmhaResultManifest(result), "\"head_dim\"");
  CHECK(strcmp(fmhaResultReport(result), "") == 0);
  size_t bytes = 7;
  CHECK(fmhaResultCubin(result, &bytes) == NULL && bytes == 0);
  CHECK(fmhaResultDiagnosticCount(result) == 0);
  CHECK(strcmp(fmhaResultDiagnostic(result, 0).message, "") == 0);
  fmhaResultDestroy(result);
  fmhaResultDestroy(NULL);
  CHECK(fmhaCompile(text, NULL, NULL) == 1 && fmhaQuery(NULL, NULL) == 1);
}

static void testMerge(void) {
  FmhaResult *result = compiled(merge, "{\"target\": \"sm_90a\"}");
  CHECK(!fmhaResultFromCache(result));
  CHECK_HAS(fmhaResultPtx(result), ".target sm_90a");
  CHECK_HAS(fmhaResultManifest(result), "\"out_dtype\": \"bf16\"");
  CHECK_HAS(fmhaResultManifest(result), "\"tensor\": \"o_parts\"");
  fmhaResultDestroy(result);
  result = compiled(merge, "{\"target\": \"sm_90a\", \"explain\": true}");
  CHECK(strcmp(fmhaResultReport(result), "") == 0);
  fmhaResultDestroy(result);
  fails(merge, "{\"target\": \"sm_75\"}",
        "<module>:", "target sm_75 is not supported");
  fails(merge, "{\"kv-stages\": 2}", "<module>:3:3",
        "expected no field of a schedule, got one");
  fails("func.func @f(%o: memref<?x1x?x4x64xf32>, %m: memref<?x1x4x?xf32>,\n"
        "    %s: memref<?x1x4x?xf32>, %out: memref<1x?x4x64xbf16>) {\n"
        "  fmha.merge ins(%o, %m, %s : memref<?x1x?x4x64xf32>,\n"
        "      memref<?x1x4x?xf32>, memref<?x1x4x?xf32>)\n"
        "      outs(%out : memref<1x?x4x64xbf16>) {target = \"sm_100a\"}\n"
        "  return\n}\n",
        "{\"target\": \"sm_90a\"}", "<module>:3:3",
        "expected the target of the op, sm_100a, got sm_90a");
}

static void testOptions(void) {
  FmhaResult *result =
      compiled(NULL, "{\"target\": \"sm_90a\", \"head-dim\": 64, "
                     "\"causal\": true, \"lse\": true, \"kv_block\": 64, "
                     "\"q-len\": null, \"scale\": 0.125, \"explain\": true}");
  CHECK_HAS(fmhaResultPtx(result), ".target sm_90a");
  CHECK_HAS(fmhaResultManifest(result), "\"lse\": true");
  CHECK_HAS(fmhaResultReport(result), "family             wgmma");
  CHECK_HAS(fmhaResultReport(result), "kv_block           64 keys");
  fmhaResultDestroy(result);
}

static void testWrongOptions(void) {
  fails(text, "{\"kv-stagse\": 2}", "options",
        "unknown option 'kv-stagse'; did you mean 'kv-stages'?");
  fails(text, "{\"qwertyuiop\": 2}", "options", "Compiler.h says which");
  fails(text, "{\"kv-stages\": \"x\"}", "options",
        "--kv-stages: expected auto or a number from 1 to 65536, got 'x'");
  fails(text, "{\"kv-stages\": [2]}", "options",
        "--kv-stages: expected a string, a number or a boolean, got [2]");
  fails(text, "{\"kv-stages\": true}", "options",
        "--kv-stages: expected a value (auto|N), got true");
  fails(text, "{\"kv-stages\": 2, \"kv_stages\": 3}", "options", "given twice");
  fails(text, "{\"causal\": true}", "options",
        "option 'causal' describes the problem, as the module text does");
  fails(text, "{\"schedule\": \"#fmha.schedule<>\"}", "options", "'schedule'");
  fails(text, "{", "options", "expected a JSON object: [1:1, byte=1]");
  fails(text, "[]", "options", "expected a JSON object, got []");
  fails(NULL, "{\"q-heads\": 3, \"kv-heads\": 2}", "options", "multiple");
}

static void testWrongText(void) {
  fails("func.func @f() {\n  oops\n}\n", "{\"name\": \"my.mlir\"}",
        "my.mlir:2:3", "oops");
  fails("", NULL, "", "expected exactly one public function");
  fails(text, "{\"target\": \"sm_75\"}", "<module>:", "sm_75 is not supported");
  fails(text, "{\"kv-stages\": 100}", "<module>:3:3", "C6");
}

static void testCubin(void) {
  FmhaResult *result = NULL;
  int code = fmhaCompile(text, "{\"cubin\": true}", &result);
  if (getenv("FMHA_PTXAS") && access(getenv("FMHA_PTXAS"), X_OK) == 0) {
    size_t bytes = 0;
    const char *cubin = (const char *)fmhaResultCubin(result, &bytes);
    CHECK(code == 0 && bytes > 64 && memcmp(cubin, "\177ELF", 4) == 0);
  }
  fmhaResultDestroy(result);
  char *ptxas = getenv("FMHA_PTXAS");
  char *kept = ptxas ? strdup(ptxas) : NULL;
  setenv("FMHA_PTXAS", "/nowhere/ptxas", 1);
  CHECK(fmhaCompile(text, "{\"cubin\": true}", &result) == 1);
  CHECK_HAS(fmhaResultMessages(result), "named by FMHA_PTXAS, got neither");
  fmhaResultDestroy(result);
  if (kept)
    setenv("FMHA_PTXAS", kept, 1);
  free(kept);
}

/* Compiles, then takes the same kernel from the cache, and prints how long both
   took. */
static void testCache(void) {
  double start = now();
  FmhaResult *first = compiled(text, "{\"q-tiles\": 1}");
  double between = now();
  FmhaResult *second = compiled(text, "{\"q_tiles\": 1}");
  double end = now();
  CHECK(!fmhaResultFromCache(first) && fmhaResultFromCache(second));
  CHECK(strcmp(fmhaResultPtx(first), fmhaResultPtx(second)) == 0);
  CHECK(strcmp(fmhaResultManifest(first), fmhaResultManifest(second)) == 0);
  printf("compiled in %.2f ms, from the cache in %.3f ms\n", between - start,
         end - between);
  fmhaResultDestroy(first);
  fmhaResultDestroy(second);
  FmhaResult *other = compiled(text, "{\"q-tiles\": 1, \"cache\": false}");
  CHECK(!fmhaResultFromCache(other));
  fmhaResultDestroy(other);
  setenv("FMHA_CACHE_DIR", "off", 1);
  other = compiled(text, "{\"q-tiles\": 1}");
  CHECK(!fmhaResultFromCache(other));
  fmhaResultDestroy(other);
}

/* A cache that cannot be used: the right kernels, and one line on stderr. */
static void testUnusableCache(const char *folder) {
  char path[4096], log[8192] = "";
  snprintf(path, sizeof path, "%s/stderr", folder);
  int kept = dup(2), file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(kept >= 0 && file >= 0 && dup2(file, 2) == 2);
  setenv("FMHA_CACHE_DIR", "/dev/null/cache", 1);
  for (int i = 0; i < 2; ++i) {
    FmhaResult *result = compiled(text, "{\"q-tiles\": 1}");
    CHECK(!fmhaResultFromCache(result));
    CHECK_HAS(fmhaResultPtx(result), ".target sm_100a");
    fmhaResultDestroy(result);
  }
  dup2(kept, 2);
  CHECK(pread(file, log, sizeof log - 1, 0) > 0);
  close(file);
  unlink(path);
  CHECK_HAS(log, "fmha: warning: cannot read the kernel cache at '/dev/null/");
  CHECK(strchr(log, '\n') == log + strlen(log) - 1);
}

/* One kernel of several that threads compile at once. */
struct Job {
  const char *options;
  char *ptx;
};

static void *work(void *opaque) {
  struct Job *job = (struct Job *)opaque;
  FmhaResult *result = compiled(text, job->options);
  job->ptx = strdup(fmhaResultPtx(result));
  fmhaResultDestroy(result);
  return NULL;
}

static void testThreads(void) {
  struct Job jobs[] = {{"{\"cache\": false}", NULL},
                       {"{\"cache\": false, \"target\": \"sm_90a\"}", NULL},
                       {"{\"cache\": false, \"kv-block\": 64}", NULL},
                       {"{\"cache\": false}", NULL}};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
  for (int i = 0; i < 4; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < 4; ++i) {
    struct Job alone = {jobs[i].options, NULL};
    work(&alone);
    CHECK(strcmp(alone.ptx, jobs[i].ptx) == 0);
    free(alone.ptx);
  }
  CHECK(strcmp(jobs[0].ptx, jobs[2].ptx) != 0);
  for (int i = 0; i < 4; ++i)
    free(jobs[i].ptx);
}

static void answers(const char *options, int code, const char *part) {
  char *json = NULL;
  int got = fmhaQuery(options, &json);
  CHECK_HAS(json, part);
  CHECK(got == code);
  fmhaStringDestroy(json);
}

static void testQuery(void) {
  answers(NULL, 0, "\"family\":\"tcgen05\"");
  answers("{\"target\": \"sm_90a\"}", 0, "\"family\":\"wgmma\"");
  answers("{\"kv-stages\": 2}", 0, "\"kv_stages\":\"2\"");
  answers("{\"head-dim\": 60}", 0, "\"family\":\"none\"");
  answers("{\"head-dim\": 60}", 0, "C2");
  answers("{\"head-dim\": 4096}", 0, "no schedule can serve this problem");
  answers("{\"target\": \"sm_75\"}", 0, "\"family\":\"none\"");
  answers("{\"target\": \"sm_75\"}", 0, "target sm_75 is not supported");
  answers("{\"target\": \"sm_100\"}", 0, "did you mean sm_100a?");
  answers("{\"hed-dim\": 64}", 1, "did you mean 'head-dim'?");
  answers("{\"module\": \"oops\"}", 1, "\"ok\":false");
}

static void removeFolder(const char *folder) {
  char path[4096];
  DIR *open = opendir(folder);
  CHECK(open != NULL);
  for (struct dirent *entry; (entry = readdir(open));) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    unlink(path);
  }
  closedir(open);
  CHECK(rmdir(folder) == 0);
}

int main(void) {
  char folder[] = "/tmp/fmha-cache-XXXXXX";
  CHECK(mkdtemp(folder) != NULL);
  setenv("FMHA_CACHE_DIR", folder, 1);
  CHECK(strlen(fmhaCompilerVersion()) >= 5);
  testText();
  testMerge();
  testOptions();
  testWrongOptions();
  testWrongText();
  testCubin();
  testCache();
  testUnusableCache(folder);
  testQuery();
  testThreads();
  removeFolder(folder);
  puts("all checks passed");
  return 0;
}
