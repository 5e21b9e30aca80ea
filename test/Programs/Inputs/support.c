/* What programs of this folder call, for executables that run where MLIR's
   runner libraries are not: printing, and copies between strided memrefs; and a
   main with an exit status. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A descriptor of a memref: its sizes and strides follow, `rank` of each. */
typedef struct {
  char *allocated, *aligned;
  int64_t offset;
  int64_t sizesAndStrides[];
} Descriptor;

typedef struct {
  int64_t rank;
  Descriptor *descriptor;
} UnrankedMemRef;

static void printFrom(const Descriptor *memref, int64_t rank, int64_t dim,
                      const float *from) {
  if (dim == rank) {
    printf("%.9g", *from);
    return;
  }
  printf("[");
  for (int64_t n = 0; n < memref->sizesAndStrides[dim]; ++n) {
    printf("%s", n ? ", " : "");
    printFrom(memref, rank, dim + 1,
              from + n * memref->sizesAndStrides[rank + dim]);
  }
  printf("]");
}

void printMemrefF32(int64_t rank, Descriptor *memref) {
  printf("Unranked Memref of rank %lld\n", (long long)rank);
  printFrom(memref, rank, 0, (const float *)memref->aligned + memref->offset);
  printf("\n");
}

static void copyFrom(int64_t bytes, int64_t rank, int64_t dim,
                     const Descriptor *source, const char *from,
                     const Descriptor *target, char *to) {
  if (dim == rank) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  for (int64_t n = 0; n < source->sizesAndStrides[dim]; ++n)
    copyFrom(bytes, rank, dim + 1, source,
             from + n * source->sizesAndStrides[rank + dim] * bytes, target,
             to + n * target->sizesAndStrides[rank + dim] * bytes);
}

void memrefCopy(int64_t bytes, UnrankedMemRef *source, UnrankedMemRef *target) {
  const Descriptor *from = source->descriptor, *to = target->descriptor;
  copyFrom(bytes, source->rank, 0, from, from->aligned + from->offset * bytes,
           to, to->aligned + to->offset * bytes);
}

void program(void);

int main(void) {
  program();
  return 0;
}
