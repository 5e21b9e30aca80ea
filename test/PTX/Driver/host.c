/*===- host.c - A plain C host on the simulator -----------------------------===
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * The shortest whole CUDA driver program: device, context, module, memory,
 * launch, result, error paths. Built with the toolkit's cuda.h and linked to
 * libptxsim.so in place of libcuda.so. Exits with the number of failed checks.
 *
 *===------------------------------------------------------------------------===*/

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int failures;

static void expect(CUresult got, CUresult expected, const char *what) {
  const char *a = "?", *b = "?";
  if (got == expected)
    return;
  cuGetErrorName(got, &a);
  cuGetErrorName(expected, &b);
  fprintf(stderr, "%s: got %s, expected %s\n", what, a, b);
  ++failures;
}
#define OK(call) expect(call, CUDA_SUCCESS, #call)
#define FAILS(error, call) expect(call, CUDA_ERROR_##error, #call)

static const char *const text =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a,\n"
    "                     .param .u32 n)\n{\n"
    "  .reg .pred %p<2>;\n  .reg .b32 %r<6>;\n  .reg .f32 %f<4>;\n"
    "  .reg .b64 %rd<6>;\n"
    "  ld.param.u64 %rd1, [x];\n  ld.param.u64 %rd2, [y];\n"
    "  ld.param.f32 %f1, [a];\n  ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n"
    "  mov.u32 %r4, %tid.x;\n  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.u32 %p1, %r5, %r1;\n  @%p1 ret;\n"
    "  mul.wide.u32 %rd3, %r5, 4;\n  add.s64 %rd4, %rd1, %rd3;\n"
    "  add.s64 %rd5, %rd2, %rd3;\n  ld.global.f32 %f2, [%rd4];\n"
    "  ld.global.f32 %f3, [%rd5];\n  fma.rn.f32 %f3, %f1, %f2, %f3;\n"
    "  st.global.f32 [%rd5], %f3;\n  ret;\n}\n";

enum { count = 1000, block = 128 };

static void compute(CUfunction axpy) {
  static float x[count], y[count], got[count];
  unsigned seed = (unsigned)time(NULL), n = count, wrong = 0;
  float a = 2.5f;
  CUdeviceptr dx = 0, dy = 0;
  CUstream stream = NULL;
  void *arguments[] = {&dx, &dy, &a, &n};
  srand(seed);
  for (int i = 0; i < count; ++i) {
    /* Small integers, so that the sum is exact with one rounding or two. */
    x[i] = (float)(rand() % 2001 - 1000);
    y[i] = (float)(rand() % 2001 - 1000);
  }
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuMemAlloc(&dx, sizeof x));
  OK(cuMemAlloc(&dy, sizeof y));
  OK(cuMemcpyHtoDAsync(dx, x, sizeof x, stream));
  OK(cuMemcpyHtoDAsync(dy, y, sizeof y, stream));
  OK(cuLaunchKernel(axpy, (count + block - 1) / block, 1, 1, block, 1, 1, 0,
                    stream, arguments, NULL));
  OK(cuMemcpyDtoHAsync(got, dy, sizeof got, stream));
  OK(cuStreamSynchronize(stream));
  for (int i = 0; i < count; ++i)
    wrong += got[i] != a * x[i] + y[i];
  if (wrong) {
    fprintf(stderr, "seed %u: %u of %d elements are wrong\n", seed, wrong,
            count);
    ++failures;
  }
  FAILS(INVALID_VALUE,
        cuLaunchKernel(axpy, 0, 1, 1, block, 1, 1, 0, stream, arguments, NULL));
  FAILS(INVALID_VALUE,
        cuLaunchKernel(axpy, 1, 1, 1, 2048, 1, 1, 0, stream, arguments, NULL));
  OK(cuMemFree(dx));
  OK(cuMemFree(dy));
  OK(cuStreamDestroy(stream));
}

static void maps(void) {
  CUtensorMap map;
  CUdeviceptr address = 0;
  cuuint64_t dims[] = {64, 32}, strides[] = {128};
  cuuint32_t box[] = {64, 8}, steps[] = {1, 1};
  OK(cuMemAlloc(&address, 64 * 32 * 2));
  for (int empty = 0; empty < 2; ++empty) {
    dims[1] = empty ? 0 : 32;
    expect(cuTensorMapEncodeTiled(
               &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)address, dims,
               strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
           empty ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS,
           "cuTensorMapEncodeTiled");
  }
  OK(cuMemFree(address));
}

int main(void) {
  CUdevice device = 0;
  CUcontext context = NULL;
  CUmodule module = NULL;
  CUfunction axpy = NULL;
  int major = 0;
  FAILS(NOT_INITIALIZED, cuDeviceGet(&device, 0));
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  FAILS(INVALID_PTX, cuModuleLoadData(&module, ".version 8.6\nnonsense\n"));
  OK(cuModuleLoadData(&module, text));
  OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                          device));
  if (major != 10) {
    fprintf(stderr, "compute capability %d.x, expected 10.x\n", major);
    ++failures;
  }
  FAILS(NOT_FOUND, cuModuleGetFunction(&axpy, module, "saxpy"));
  OK(cuModuleGetFunction(&axpy, module, "axpy"));
  if (axpy)
    compute(axpy);
  maps();
  OK(cuModuleUnload(module));
  OK(cuDevicePrimaryCtxRelease(device));
  return failures;
}
