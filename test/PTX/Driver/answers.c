/*===- answers.c - What a CUDA driver answers -------------------------------===
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * A plain C host that asks the driver questions, mostly wrong ones, and prints
 * one line "question: answer" each. The same program runs against a real driver
 * (cc answers.c -lcuda) and against libptxsim.so; the lines recorded from an
 * H200 lie in test/data/driver-answers-sm_90.txt and the two must be equal.
 *
 * The faults end a context, so every group runs in a process of its own:
 *   answers main | illegal | trap | misaligned
 *
 *===------------------------------------------------------------------------===*/
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name(CUresult result) {
  const char *text = NULL;
  return cuGetErrorName(result, &text) == CUDA_SUCCESS ? text : "(no name)";
}
static void say(const char *question, CUresult result) {
  printf("%s: %s\n", question, name(result));
}
#define ASK(call) say(#call, call)
#define NUMBER(what, value) printf("%s: %lld\n", what, (long long)(value))

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
static const char *const kernels =
    HEAD ".global .align 16 .b8 table[48];\n"
         ".visible .entry store(.param .u64 p, .param .u32 v)\n{\n"
         ".reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
         "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [v];\n"
         "st.global.u32 [%rd1], %r1;\nret;\n}\n"
         ".visible .entry nothing()\n{\nret;\n}\n"
         ".visible .entry atmost128() .maxntid 128, 1, 1\n{\nret;\n}\n"
         ".visible .entry exactly64() .reqntid 64, 1, 1\n{\nret;\n}\n"
         ".visible .entry pair() .reqnctapercluster 2, 1, 1\n{\nret;\n}\n"
         ".visible .entry shared40k(.param .u64 p)\n{\n"
         ".shared .align 16 .b8 s[40960];\n"
         ".reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
         "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 7;\n"
         "st.volatile.shared.u32 [s], %r1;\nld.volatile.shared.u32 %r1, [s];\n"
         "st.global.u32 [%rd1], %r1;\nret;\n}\n"
         ".visible .entry many(.param .u8 a, .param .u64 b, .param .align 64 "
         ".b8 c[128], .param .u16 d)\n{\nret;\n}\n"
         ".visible .entry dies()\n{\ntrap;\nret;\n}\n";

static CUcontext context;
static CUmodule module;

static CUfunction function(const char *entry) {
  CUfunction f = NULL;
  CUresult r = cuModuleGetFunction(&f, module, entry);
  if (r != CUDA_SUCCESS)
    say(entry, r);
  return f;
}

static void beforeInit(void) {
  int n = 0;
  CUcontext c = NULL;
  ASK(cuDeviceGetCount(&n));
  ASK(cuCtxGetCurrent(&c));
  ASK(cuCtxSynchronize());
  ASK(cuInit(1));
}

static void withoutContext(void) {
  CUdevice d = 0;
  CUdeviceptr p = 0;
  CUcontext c = (CUcontext)1;
  CUmodule m = NULL;
  ASK(cuInit(0));
  ASK(cuInit(0));
  ASK(cuDeviceGet(&d, 99));
  ASK(cuDeviceGet(&d, -1));
  ASK(cuDeviceGet(NULL, 0));
  ASK(cuCtxGetCurrent(&c));
  NUMBER("no current context", c == NULL);
  ASK(cuMemAlloc(&p, 16));
  ASK(cuCtxSynchronize());
  ASK(cuCtxGetDevice(&d));
  ASK(cuCtxPopCurrent(&c));
  ASK(cuModuleLoadData(&m, kernels));
  ASK(cuCtxDestroy(NULL));
  ASK(cuMemFree(0));
}

static void deviceFacts(void) {
  static const int attributes[] = {1,  2,  3,   4,   5,   6,  7,  8,
                                   9,  10, 12,  39,  41,  75, 76, 81,
                                   82, 97, 106, 111, 120, 127};
  int value = 0;
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i) {
    CUresult r = cuDeviceGetAttribute(&value, attributes[i], 0);
    printf("attribute %d: %s %d\n", attributes[i], name(r), value);
  }
  ASK(cuDeviceGetAttribute(&value, 0, 0));
  ASK(cuDeviceGetAttribute(&value, 9999, 0));
  ASK(cuDeviceGetAttribute(NULL, 1, 0));
  ASK(cuDeviceGetAttribute(&value, 1, 99));
}

static void memory(void) {
  CUdeviceptr p = 0, q = 0, base = 0;
  size_t size = 0;
  char bytes[300] = {0};
  unsigned type = 0;
  ASK(cuMemAlloc(&p, 0));
  ASK(cuMemAlloc(NULL, 16));
  ASK(cuMemAlloc(&p, (size_t)1 << 50));
  ASK(cuMemAlloc(&p, 256));
  NUMBER("alignment of an allocation", p % 256);
  ASK(cuMemAlloc(&q, 256));
  ASK(cuMemFree(0));
  ASK(cuMemFree(p + 4));
  ASK(cuMemFree(12345));
  ASK(cuMemcpyHtoD(p, bytes, 0));
  ASK(cuMemcpyHtoD(p, bytes, 256));
  ASK(cuMemcpyHtoD(12345, bytes, 16));
  ASK(cuMemcpyHtoD(p, NULL, 16));
  ASK(cuMemcpyDtoH(NULL, p, 16));
  ASK(cuMemcpyDtoH(bytes, 0, 16));
  ASK(cuMemcpyDtoD(q, p, 256));
  ASK(cuMemsetD32(p + 1, 7, 1));
  ASK(cuMemsetD16(p + 1, 7, 1));
  ASK(cuMemsetD8(p + 1, 7, 3));
  ASK(cuMemsetD32(p, 7, 0));
  ASK(cuMemsetD8(12345, 7, 16));
  ASK(cuMemGetAddressRange(&base, &size, p + 8));
  NUMBER("range starts at the allocation", base == p);
  NUMBER("range size", size);
  ASK(cuMemGetAddressRange(&base, &size, 12345));
  ASK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  NUMBER("memory type", type);
  ASK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 12345));
  ASK(cuMemFree(p));
  ASK(cuMemFree(p));
  ASK(cuMemFree(q));
}

static CUresult load(const char *text) {
  CUmodule m = NULL;
  CUresult r = cuModuleLoadData(&m, text);
  if (r == CUDA_SUCCESS)
    cuModuleUnload(m);
  return r;
}

static void jitLog(void) {
  char log[1024] = "";
  CUmodule m = NULL;
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)sizeof log};
  ASK(cuModuleLoadDataEx(&m, HEAD ".entry k() { nonsense; }", 2, options,
                         values));
  NUMBER("error log has text", log[0] != 0);
  NUMBER("size option was updated", values[1] != (void *)sizeof log);
}

static void modules(void) {
  static const char elf[64] = "\177ELF";
  CUmodule m = NULL;
  CUfunction f = NULL;
  CUdeviceptr p = 0;
  size_t size = 0;
  say("load text that is no PTX", load("hello"));
  say("load empty text", load(""));
  say("load an unknown instruction", load(HEAD ".entry k() { nonsense; }"));
  say("load truncated text", load(HEAD ".entry k() { mov.u32"));
  say("load an undeclared register",
      load(HEAD ".entry k() { mov.u32 %r1, 0; ret; }"));
  say("load without .version", load(".target sm_90\n"));
  say("load .version 99.9", load(".version 99.9\n.target sm_90\n"));
  say("load for sm_100", load(".version 8.6\n.target sm_100\n"
                              ".address_size 64\n.entry k() { ret; }"));
  say("load for sm_100a", load(".version 8.6\n.target sm_100a\n"
                               ".address_size 64\n.entry k() { ret; }"));
  say("load for sm_90a", load(".version 8.0\n.target sm_90a\n"
                              ".address_size 64\n.entry k() { ret; }"));
  say("load for sm_80", load(".version 8.0\n.target sm_80\n"
                             ".address_size 64\n.entry k() { ret; }"));
  say("load no kernels", load(HEAD));
  say("load ELF", load(elf));
  ASK(cuModuleLoadData(&m, NULL));
  ASK(cuModuleLoad(&m, "/nonexistent/file.ptx"));
  jitLog();
  ASK(cuModuleLoadData(&module, kernels));
  ASK(cuModuleGetFunction(&f, module, "missing"));
  ASK(cuModuleGetFunction(&f, module, "table"));
  ASK(cuModuleGetFunction(&f, NULL, "nothing"));
  ASK(cuModuleGetGlobal(&p, &size, module, "missing"));
  ASK(cuModuleGetGlobal(&p, &size, module, "table"));
  NUMBER("size of table", size);
  ASK(cuModuleGetGlobal(&p, NULL, module, "table"));
  ASK(cuModuleGetGlobal(NULL, &size, module, "nothing"));
}

static void attribute(const char *entry, CUfunction_attribute which) {
  int value = -1;
  CUresult r = cuFuncGetAttribute(&value, which, function(entry));
  printf("%s attribute %d: %s %d\n", entry, (int)which, name(r), value);
}

static void attributes(void) {
  static const int which[] = {0, 1, 5, 6, 8, 10, 11, 12, 13, 14};
  size_t offset = 0, size = 0;
  int value = 0;
  for (size_t i = 0; i < sizeof which / sizeof *which; ++i) {
    attribute("nothing", which[i]);
    attribute("shared40k", which[i]);
    attribute("pair", which[i]);
    attribute("atmost128", which[i]);
    attribute("exactly64", which[i]);
  }
  ASK(cuFuncGetAttribute(&value, 99, function("nothing")));
  ASK(cuFuncGetAttribute(&value, 0, NULL));
  ASK(cuFuncSetAttribute(function("nothing"), 8, 232448));
  ASK(cuFuncSetAttribute(function("nothing"), 8, 232449));
  ASK(cuFuncSetAttribute(function("nothing"), 8, -1));
  attribute("nothing", 8);
  ASK(cuFuncSetAttribute(function("nothing"), 8, 1024));
  ASK(cuFuncSetAttribute(function("nothing"), 0, 64));
  ASK(cuFuncSetAttribute(function("nothing"), 99, 64));
  ASK(cuFuncSetAttribute(function("shared40k"), 8, 232448));
  ASK(cuFuncSetAttribute(function("shared40k"), 8, 232448 - 40960));
  for (size_t i = 0; i < 5; ++i) {
    CUresult r = cuFuncGetParamInfo(function("many"), i, &offset, &size);
    printf("parameter %d: %s", (int)i, name(r));
    if (r == CUDA_SUCCESS)
      printf(" offset %d size %d", (int)offset, (int)size);
    printf("\n");
  }
}

static CUresult launch(const char *entry, unsigned gx, unsigned gy, unsigned gz,
                       unsigned bx, unsigned by, unsigned bz, unsigned smem) {
  return cuLaunchKernel(function(entry), gx, gy, gz, bx, by, bz, smem, NULL,
                        NULL, NULL);
}

static void launches(void) {
  ASK(launch("nothing", 1, 1, 1, 32, 1, 1, 0));
  ASK(launch("nothing", 0, 1, 1, 32, 1, 1, 0));
  ASK(launch("nothing", 1, 0, 1, 32, 1, 1, 0));
  ASK(launch("nothing", 1, 1, 1, 0, 1, 1, 0));
  ASK(launch("nothing", 1, 1, 1, 1024, 1, 1, 0));
  ASK(launch("nothing", 1, 1, 1, 1025, 1, 1, 0));
  ASK(launch("nothing", 1, 1, 1, 64, 32, 1, 0));
  ASK(launch("nothing", 1, 1, 1, 1, 1, 64, 0));
  ASK(launch("nothing", 1, 1, 1, 1, 1, 65, 0));
  ASK(launch("nothing", 1, 65536, 1, 1, 1, 1, 0));
  ASK(launch("nothing", 1, 1, 65536, 1, 1, 1, 0));
  ASK(launch("nothing", 0x80000000u, 1, 1, 1, 1, 1, 0));
  ASK(launch("nothing", 1, 1, 1, 1, 1, 1, 1024));
  ASK(launch("nothing", 1, 1, 1, 1, 1, 1, 1025));
  ASK(launch("nothing", 1, 1, 1, 1, 1, 1, 49152));
  ASK(launch("exactly64", 1, 1, 1, 64, 1, 1, 49152));
  ASK(launch("exactly64", 1, 1, 1, 64, 1, 1, 49153));
  ASK(launch("exactly64", 1, 1, 1, 32, 1, 1, 0));
  ASK(launch("exactly64", 1, 1, 1, 128, 1, 1, 0));
  ASK(launch("exactly64", 1, 1, 1, 32, 2, 1, 0));
  ASK(launch("atmost128", 1, 1, 1, 128, 1, 1, 0));
  ASK(launch("atmost128", 1, 1, 1, 129, 1, 1, 0));
  ASK(launch("atmost128", 1, 1, 1, 64, 2, 1, 0));
  ASK(launch("pair", 2, 1, 1, 32, 1, 1, 0));
  ASK(launch("pair", 3, 1, 1, 32, 1, 1, 0));
  ASK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  ASK(cuCtxSynchronize());
}

static CUresult cluster(const char *entry, unsigned grid, unsigned x,
                        unsigned y, unsigned z) {
  CUlaunchAttribute attr;
  CUlaunchConfig config;
  memset(&attr, 0, sizeof attr);
  memset(&config, 0, sizeof config);
  attr.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attr.value.clusterDim.x = x;
  attr.value.clusterDim.y = y;
  attr.value.clusterDim.z = z;
  config.gridDimX = grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attr;
  config.numAttrs = 1;
  return cuLaunchKernelEx(&config, function(entry), NULL, NULL);
}

static void clusters(void) {
  ASK(cluster("nothing", 4, 2, 1, 1));
  ASK(cluster("nothing", 3, 2, 1, 1));
  ASK(cluster("nothing", 4, 1, 2, 1));
  ASK(cluster("nothing", 4, 0, 1, 1));
  ASK(cluster("nothing", 8, 8, 1, 1));
  ASK(cluster("nothing", 16, 16, 1, 1));
  ASK(cuFuncSetAttribute(function("nothing"),
                         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                         1));
  ASK(cluster("nothing", 16, 16, 1, 1));
  ASK(cluster("nothing", 32, 32, 1, 1));
  ASK(cluster("pair", 4, 2, 1, 1));
  ASK(cluster("pair", 4, 4, 1, 1));
  ASK(cuLaunchKernelEx(NULL, function("nothing"), NULL, NULL));
  ASK(cuCtxSynchronize());
}

static void parameters(void) {
  CUdeviceptr p = 0;
  unsigned v = 41, got = 0;
  struct {
    CUdeviceptr p;
    unsigned v;
  } packed;
  size_t size = 12;
  void *list[] = {&p, &v};
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUfunction f = function("store");
  cuMemAlloc(&p, 16);
  packed.p = p;
  packed.v = 42;
  ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, list, NULL));
  ASK(cuMemcpyDtoH(&got, p, 4));
  NUMBER("stored through kernelParams", got);
  ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  ASK(cuMemcpyDtoH(&got, p, 4));
  NUMBER("stored through extra", got);
  ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, list, extra));
  ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  ASK(cuCtxSynchronize());
  cuMemFree(p);
}

static void streamsAndEvents(void) {
  CUstream s = NULL;
  CUevent a = NULL, b = NULL, quiet = NULL;
  float ms = 0;
  ASK(cuStreamCreate(&s, 99));
  ASK(cuStreamCreate(NULL, 0));
  ASK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  ASK(cuStreamQuery(s));
  ASK(cuStreamSynchronize(s));
  ASK(cuStreamSynchronize(NULL));
  ASK(cuEventCreate(&a, 0));
  ASK(cuEventCreate(&b, 0));
  ASK(cuEventCreate(&quiet, CU_EVENT_DISABLE_TIMING));
  ASK(cuEventQuery(a));
  ASK(cuEventSynchronize(a));
  ASK(cuEventElapsedTime(&ms, a, b));
  ASK(cuEventRecord(a, s));
  ASK(cuEventRecord(b, s));
  ASK(cuEventRecord(quiet, s));
  ASK(cuStreamWaitEvent(s, a, 0));
  ASK(cuEventSynchronize(b));
  ASK(cuEventSynchronize(quiet));
  ASK(cuEventElapsedTime(&ms, a, b));
  ASK(cuEventElapsedTime(&ms, a, quiet));
  ASK(cuEventElapsedTime(NULL, a, b));
  ASK(cuEventElapsedTime(&ms, NULL, b));
  ASK(cuEventRecord(NULL, s));
  ASK(cuEventDestroy(NULL));
  ASK(cuEventDestroy(a));
  ASK(cuStreamDestroy(NULL));
  ASK(cuStreamDestroy(s));
}

static void occupancy(const char *entry, int block, size_t smem) {
  int blocks = -1;
  CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function(entry), block, smem);
  printf("occupancy of %s %d %d: %s %d\n", entry, block, (int)smem, name(r),
         blocks);
}

static void occupancies(void) {
  occupancy("nothing", 32, 0);
  occupancy("nothing", 128, 0);
  occupancy("nothing", 1024, 0);
  occupancy("nothing", 1025, 0);
  occupancy("nothing", 0, 0);
  occupancy("exactly64", 64, 49152);
  occupancy("shared40k", 64, 0);
}

static void address(const char *symbol, int version) {
  CUdriverProcAddressQueryResult status = 99;
  void *pointer = (void *)1;
  CUresult r = cuGetProcAddress(symbol, &pointer, version, 0, &status);
  printf("address of %s at %d: %s status %d null %d\n", symbol, version,
         name(r), (int)status, pointer == NULL);
}

static void addresses(void) {
  address("cuMemAlloc", 13000);
  address("cuMemAlloc", 1000);
  address("cuLaunchKernelEx", 11000);
  address("cuLaunchKernelEx", 12000);
  address("cuTensorMapEncodeTiled", 12000);
  address("cuTensorMapEncodeTiled", 11000);
  address("cuNoSuchThing", 13000);
  address("cuMemAlloc_v2", 13000);
  address("", 13000);
}

static void libraries(void) {
  CUlibrary library = NULL;
  CUkernel kernel = NULL;
  CUmodule m = NULL;
  CUfunction f = NULL;
  CUdeviceptr p = 0;
  size_t size = 0;
  int value = 0;
  ASK(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
  ASK(cuLibraryGetKernel(&kernel, library, "missing"));
  ASK(cuLibraryGetKernel(&kernel, library, "nothing"));
  ASK(cuLibraryGetModule(&m, library));
  ASK(cuKernelGetFunction(&f, kernel));
  ASK(cuLibraryGetGlobal(&p, &size, library, "table"));
  ASK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                           kernel, 0));
  ASK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                           100000, kernel, 0));
  ASK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 100000, NULL, NULL,
                     NULL));
  ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  ASK(cuCtxSynchronize());
  ASK(cuLibraryUnload(library));
}

static void mainGroup(void) {
  CUcontext c = NULL;
  beforeInit();
  withoutContext();
  ASK(cuCtxCreate(&context, NULL, 0, 99));
  ASK(cuCtxCreate(&context, NULL, 0, 0));
  deviceFacts();
  memory();
  modules();
  attributes();
  launches();
  clusters();
  parameters();
  streamsAndEvents();
  occupancies();
  addresses();
  libraries();
  ASK(cuModuleUnload(module));
  ASK(cuModuleUnload(NULL));
  ASK(cuCtxDestroy(context));
  ASK(cuCtxGetCurrent(&c));
  NUMBER("no context after destroying it", c == NULL);
}

/* A kernel that faults, and what every later call answers. */
static void fault(const char *entry, CUdeviceptr where) {
  CUdeviceptr p = 0;
  CUevent e = NULL;
  CUmodule m = NULL;
  unsigned v = 1;
  void *list[] = {&where, &v};
  int dies = strcmp(entry, "dies") == 0;
  cuInit(0);
  ASK(cuCtxCreate(&context, NULL, 0, 0));
  ASK(cuModuleLoadData(&module, kernels));
  ASK(cuLaunchKernel(function(entry), 1, 1, 1, 1, 1, 1, 0, NULL,
                     dies ? NULL : list, NULL));
  ASK(cuCtxSynchronize());
  ASK(cuCtxSynchronize());
  ASK(cuMemAlloc(&p, 16));
  ASK(cuEventCreate(&e, 0));
  ASK(cuModuleLoadData(&m, kernels));
  ASK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  ASK(cuStreamQuery(NULL));
  ASK(cuModuleUnload(module));
  ASK(cuCtxDestroy(context));
  ASK(cuCtxCreate(&context, NULL, 0, 0));
}

int main(int argc, char **argv) {
  const char *group = argc > 1 ? argv[1] : "main";
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (strcmp(group, "main") == 0)
    mainGroup();
  else if (strcmp(group, "illegal") == 0)
    fault("store", 0);
  else if (strcmp(group, "trap") == 0)
    fault("dies", 0);
  else if (strcmp(group, "misaligned") == 0)
    fault("store", 0x700000000001ull);
  else
    return 2;
  return 0;
}
