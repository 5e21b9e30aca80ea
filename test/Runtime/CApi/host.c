/*===- host.c - Attention from a C program ----------------------*- C -*-===*
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * fmha-rt-host KERNEL.ptx KERNEL.json PROBLEM...
 *
 * Loads the kernel once, launches it on every problem with random numbers, and
 * compares with float64. A problem is a list "batch=2,q_len=33,...": batch,
 * q_len, kv_len, q_heads, kv_heads, dim, dim_v, f16=1, causal=1, bhsd=1, seed,
 * graph=1 (the launch is captured, and the graph runs twice), and lists
 * kv_lens=3:0, cu_q=0:5:9, cu_k=0:7:7. Exits with 1 if a number is outside the
 * tolerance.
 *
 *===------------------------------------------------------------------------===*/

#include "fmha-c/Runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver API, which libptxsim.so exports under the names of cuda.h. */
typedef unsigned long long Address;
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuStreamCreate(CUstream *stream, unsigned flags);
int cuStreamBeginCapture_v2(CUstream stream, int mode);
int cuStreamEndCapture(CUstream stream, void **graph);
int cuGraphInstantiateWithFlags(void **exec, void *graph,
                                unsigned long long flags);
int cuGraphLaunch(void *exec, CUstream stream);
int cuMemAlloc_v2(Address *address, size_t bytes);
int cuMemFree_v2(Address address);
int cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, Address from, size_t bytes);

/* The ABI of DLPack 1.x on a 64-bit machine. */
_Static_assert(sizeof(DLTensor) == 48 && sizeof(DLDataType) == 4, "size");
_Static_assert(offsetof(DLTensor, ndim) == 16, "device");
_Static_assert(offsetof(DLTensor, dtype) == 20, "ndim");
_Static_assert(offsetof(DLTensor, shape) == 24, "dtype");
_Static_assert(offsetof(DLTensor, byte_offset) == 40, "strides");

enum { mostEntries = 16, mostTensors = 20 };

typedef struct {
  int count;
  int entries[mostEntries];
} List;

typedef struct {
  int batch, q_len, kv_len, q_heads, kv_heads, dim, dim_v;
  int f16, causal, bhsd, seed, graph;
  List kv_lens, cu_q, cu_k;
} Problem;

typedef struct {
  DLTensor dl;
  int64_t shape[4], strides[4];
  size_t bytes;
  void *host;
} Tensor;

static void die(const char *what, const char *why) {
  fprintf(stderr, "fmha-rt-host: %s: %s\n", what, why);
  exit(2);
}

static void need(int result, const char *what) {
  if (result)
    die(what, "the driver refuses");
}

static void succeed(FmhaStatus status) {
  if (status)
    die("libfmha_rt", fmhaLastError());
}

static char *readFile(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file)
    die(path, "cannot be opened");
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(*bytes + 1, 1);
  if (fread(text, 1, *bytes, file) != *bytes)
    die(path, "cannot be read");
  fclose(file);
  return text;
}

/* Numbers ------------------------------------------------------------------*/

static uint64_t state;

static double noise(void) {
  double sum = 0;
  for (int n = 0; n < 4; ++n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sum += (double)(state >> 40) / (1 << 24) - 0.5;
  }
  return sum * 1.7;
}

/* Drops bits, so that the number is exact in the type of the kernel. */
static uint16_t store(double value, int f16, double *exact) {
  float narrow = (float)value;
  uint32_t bits;
  if (f16) {
    int exponent;
    double fraction = frexp(value, &exponent);
    if (value == 0 || exponent < -13)
      return (uint16_t)(*exact = 0);
    int mantissa = (int)(fabs(fraction) * 2048);
    *exact = copysign(ldexp(mantissa, exponent - 11), value);
    return (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                      (mantissa & 1023));
  }
  memcpy(&bits, &narrow, 4);
  bits &= 0xffff0000u;
  memcpy(&narrow, &bits, 4);
  *exact = narrow;
  return (uint16_t)(bits >> 16);
}

static double load(uint16_t bits, int f16) {
  if (!f16) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
  }
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double size = exponent == 31  ? (mantissa ? NAN : INFINITY)
                : exponent == 0 ? ldexp(mantissa, -24)
                                : ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

/* Problems -----------------------------------------------------------------*/

static void setList(List *list, const char *text) {
  for (list->count = 0; *text; text += *text == ':')
    list->entries[list->count++] = (int)strtol(text, (char **)&text, 10);
}

static Problem parse(char *text) {
  Problem p = {1, 1, 1, 1, 1, 64, 64, 0, 0, 0, 1, 0, {0}, {0}, {0}};
  struct {
    const char *name;
    int *number;
  } numbers[] = {
      {"batch", &p.batch},     {"q_len", &p.q_len},       {"kv_len", &p.kv_len},
      {"q_heads", &p.q_heads}, {"kv_heads", &p.kv_heads}, {"dim", &p.dim},
      {"dim_v", &p.dim_v},     {"f16", &p.f16},           {"causal", &p.causal},
      {"bhsd", &p.bhsd},       {"seed", &p.seed},         {"graph", &p.graph}};
  struct {
    const char *name;
    List *list;
  } lists[] = {{"kv_lens", &p.kv_lens}, {"cu_q", &p.cu_q}, {"cu_k", &p.cu_k}};
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
    char *value = strchr(word, '=');
    int known = 0;
    if (!value)
      die(word, "expected NAME=VALUE");
    *value++ = 0;
    for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers); ++n)
      if (!strcmp(word, numbers[n].name)) {
        *numbers[n].number = atoi(value);
        known = 1;
      }
    for (size_t n = 0; n < sizeof(lists) / sizeof(*lists); ++n)
      if (!strcmp(word, lists[n].name)) {
        setList(lists[n].list, value);
        known = 1;
      }
    if (!known)
      die(word, "no part of a problem");
  }
  return p;
}

static int sequences(const Problem *p) {
  return p->cu_q.count ? p->cu_q.count - 1 : p->batch;
}

/* Device memory for the tensor; what is not written holds NaN. */
static void allocate(Tensor *t, DLDataType type, int ndim, const int *shape,
                     int bhsd) {
  size_t elements = 1;
  Address address;
  memset(t, 0, sizeof(*t));
  for (int d = ndim; d-- > 0; elements *= (size_t)shape[d]) {
    t->shape[d] = shape[d];
    t->strides[d] = (int64_t)elements;
  }
  /* [batch, length, heads, dim] with the heads outside the length. */
  if (bhsd && ndim == 4) {
    t->strides[1] = shape[3];
    t->strides[2] = (int64_t)shape[1] * shape[3];
  }
  t->bytes = elements * type.bits / 8;
  t->host = malloc(t->bytes + 1);
  memset(t->host, 0xff, t->bytes);
  need(cuMemAlloc_v2(&address, t->bytes + 16), "allocating");
  t->dl = (DLTensor){(void *)(uintptr_t)address,
                     {kDLCUDA, 0},
                     ndim,
                     type,
                     t->shape,
                     t->strides,
                     0};
}

static void upload(Tensor *t) {
  need(cuMemcpyHtoD_v2((Address)(uintptr_t)t->dl.data, t->host, t->bytes),
       "copying to the device");
}

static void makeTensor(const Problem *p, const char *name, Tensor *t) {
  DLDataType half = {(uint8_t)(p->f16 ? kDLFloat : kDLBfloat), 16, 1};
  DLDataType f32 = {kDLFloat, 32, 1}, i32 = {kDLInt, 32, 1};
  int isQ = !strcmp(name, "q"), isO = !strcmp(name, "o");
  int ofQ = isQ || isO, isK = !strcmp(name, "k");
  int packed = ofQ ? p->cu_q.count : p->cu_k.count;
  const List *list = !strcmp(name, "kv_lens")        ? &p->kv_lens
                     : !strcmp(name, "cu_seqlens_q") ? &p->cu_q
                     : !strcmp(name, "cu_seqlens_k") ? &p->cu_k
                                                     : NULL;
  if (list) {
    allocate(t, i32, 1, &list->count, 0);
    memcpy(t->host, list->entries, t->bytes);
  } else if (!strcmp(name, "lse")) {
    int shape[3] = {p->batch, p->q_heads, p->q_len};
    int skip = p->cu_q.count > 0;
    allocate(t, f32, 3 - skip, shape + skip, 0);
  } else {
    int shape[4] = {p->batch, ofQ ? p->q_len : p->kv_len,
                    ofQ ? p->q_heads : p->kv_heads,
                    isQ || isK ? p->dim : p->dim_v};
    int skip = packed > 0;
    allocate(t, half, 4 - skip, shape + skip, p->bhsd);
    double exact;
    for (size_t n = 0; !isO && n < t->bytes / 2; ++n)
      ((uint16_t *)t->host)[n] = store(noise(), p->f16, &exact);
  }
  upload(t);
}

/* Comparison ---------------------------------------------------------------*/

static double at(const Problem *p, const Tensor *t, int b, int row, int head,
                 int column) {
  int packed = t->dl.ndim == 3;
  const int64_t *s = t->strides;
  int64_t place = packed ? row * s[0] + head * s[1] + column
                         : b * s[0] + row * s[1] + head * s[2] + column;
  return load(((const uint16_t *)t->host)[place], p->f16);
}

typedef struct {
  const Tensor *q, *k, *v, *o, *lse;
} Named;

/* The largest error of a row, 1 at the limit of the tolerance. */
static double compareRow(const Problem *p, const Named *t, int b, int row,
                         int head, int firstKey, int keys, int visible) {
  int kvHead = head * p->kv_heads / p->q_heads;
  double *scores = calloc((size_t)keys + 1, sizeof(double)), top = -INFINITY;
  for (int j = 0; j < keys; ++j) {
    scores[j] = -INFINITY;
    if (j >= visible)
      continue;
    double dot = 0;
    for (int d = 0; d < p->dim; ++d)
      dot += at(p, t->q, b, row, head, d) *
             at(p, t->k, b, firstKey + j, kvHead, d);
    scores[j] = dot / sqrt(p->dim);
    top = fmax(top, scores[j]);
  }
  double total = 0, worst = 0, unit = p->f16 ? 0x1p-11 : 0x1p-8;
  for (int j = 0; j < visible && j < keys; ++j)
    total += exp(scores[j] - top);
  for (int d = 0; d < p->dim_v; ++d) {
    double sum = 0, size = 0;
    for (int j = 0; j < visible && j < keys; ++j) {
      double weight = exp(scores[j] - top) / total;
      double value = at(p, t->v, b, firstKey + j, kvHead, d);
      sum += weight * value;
      size += weight * fabs(value);
    }
    double error = fabs(at(p, t->o, b, row, head, d) - sum);
    double limit = unit * 1.1 * (fabs(sum) + size) + 1e-6;
    worst = error <= worst * limit ? worst : error / limit;
    if (isnan(error))
      worst = INFINITY;
  }
  free(scores);
  if (!t->lse)
    return worst;
  const int64_t *s = t->lse->strides;
  int64_t place = t->lse->dl.ndim == 2 ? head * s[0] + row * s[1]
                                       : b * s[0] + head * s[1] + row * s[2];
  double got = ((const float *)t->lse->host)[place];
  double want = total > 0 ? top + log(total) : -INFINITY;
  double limit = 1e-5 * fmax(1, fabs(want)) + 1e-5;
  double error = got == want ? 0 : fabs(got - want) / limit;
  return isnan(error) ? INFINITY : fmax(worst, error);
}

static double compare(const Problem *p, const Named *t) {
  double worst = 0;
  for (int n = 0; n < sequences(p); ++n) {
    int row = p->cu_q.count ? p->cu_q.entries[n] : 0;
    int rows = p->cu_q.count ? p->cu_q.entries[n + 1] - row : p->q_len;
    int key = p->cu_k.count ? p->cu_k.entries[n] : 0;
    int keys = p->cu_k.count ? p->cu_k.entries[n + 1] - key : p->kv_len;
    if (p->kv_lens.count)
      keys = p->kv_lens.entries[n];
    for (int head = 0; head < p->q_heads; ++head)
      for (int i = 0; i < rows; ++i) {
        int visible = p->causal ? i + keys - rows + 1 : keys;
        double error = compareRow(p, t, n, row + i, head, key, keys,
                                  visible < 0 ? 0 : visible);
        worst = error > worst ? error : worst;
      }
  }
  return worst;
}

static void download(Tensor *t) {
  need(cuMemcpyDtoH_v2(t->host, (Address)(uintptr_t)t->dl.data, t->bytes),
       "copying from the device");
}

static void poison(Tensor *t) {
  memset(t->host, 0xff, t->bytes);
  upload(t);
}

/* Captures a launch, during which nothing may run, and runs the graph twice,
 * the second time over outputs that are poisoned again. */
static void launchTwice(FmhaModule module, const DLTensor *const *pointers,
                        size_t count, void *workspace, CUstream stream,
                        Tensor *o) {
  void *graph, *exec;
  const unsigned char *first = o->host;
  need(cuStreamBeginCapture_v2(stream, 0), "beginning the capture");
  succeed(fmhaLaunch(module, pointers, count, workspace, stream));
  need(cuStreamEndCapture(stream, &graph), "ending the capture");
  need(cuCtxSynchronize(), "waiting");
  download(o);
  if (o->bytes && (first[0] != 0xff || first[1] != 0xff))
    die("capture", "the kernel ran while it was captured");
  need(cuGraphInstantiateWithFlags(&exec, graph, 0), "making the graph");
  need(cuGraphLaunch(exec, stream), "launching the graph");
  need(cuCtxSynchronize(), "waiting for the graph");
  poison(o);
  need(cuGraphLaunch(exec, stream), "launching the graph again");
}

/* Returns whether the problem is solved within the tolerance. */
static int run(FmhaModule module, Problem *p, CUstream stream) {
  Tensor tensors[mostTensors];
  const DLTensor *pointers[mostTensors];
  Named named = {0};
  size_t count = fmhaTensorCount(module);
  state = (uint64_t)p->seed;
  for (size_t n = 0; n < count; ++n) {
    const char *name = fmhaTensorName(module, n);
    makeTensor(p, name, &tensors[n]);
    pointers[n] = &tensors[n].dl;
    const Tensor **place = !strcmp(name, "q")     ? &named.q
                           : !strcmp(name, "k")   ? &named.k
                           : !strcmp(name, "v")   ? &named.v
                           : !strcmp(name, "o")   ? &named.o
                           : !strcmp(name, "lse") ? &named.lse
                                                  : NULL;
    if (place)
      *place = &tensors[n];
  }
  uint64_t bytes = 0;
  Address workspace = 0;
  succeed(fmhaWorkspaceBytes(module, pointers, count, &bytes));
  if (bytes)
    need(cuMemAlloc_v2(&workspace, bytes), "allocating the workspace");
  void *room = (void *)(uintptr_t)workspace;
  if (p->graph)
    launchTwice(module, pointers, count, room, stream,
                &tensors[named.o - tensors]);
  else
    succeed(fmhaLaunch(module, pointers, count, room, stream));
  need(cuCtxSynchronize(), "waiting for the kernel");
  for (size_t n = 0; n < count; ++n)
    download(&tensors[n]);
  double worst = compare(p, &named);
  printf("workspace %llu, error %.3f of the tolerance\n",
         (unsigned long long)bytes, worst);
  /* Freed addresses are given out again, to tensors of other shapes. */
  for (size_t n = 0; n < count; ++n) {
    need(cuMemFree_v2((Address)(uintptr_t)tensors[n].dl.data), "freeing");
    free(tensors[n].host);
  }
  if (workspace)
    need(cuMemFree_v2(workspace), "freeing the workspace");
  return worst <= 1;
}

int main(int argc, char **argv) {
  size_t bytes, ignored;
  void *context;
  FmhaModule module;
  CUstream stream;
  int failures = 0;
  if (argc < 4)
    die("usage", "fmha-rt-host KERNEL.ptx KERNEL.json PROBLEM...");
  need(cuInit(0), "starting");
  need(cuDevicePrimaryCtxRetain(&context, 0), "creating a context");
  need(cuCtxSetCurrent(context), "entering the context");
  need(cuStreamCreate(&stream, 0), "creating a stream");
  char *image = readFile(argv[1], &bytes);
  char *manifest = readFile(argv[2], &ignored);
  succeed(fmhaModuleLoad(image, bytes, manifest, &module));
  free(image);
  free(manifest);
  for (int n = 3; n < argc; ++n) {
    printf("%s: ", argv[n]);
    Problem problem = parse(argv[n]);
    failures += !run(module, &problem, stream);
  }
  succeed(fmhaModuleUnload(module));
  return failures != 0;
}
