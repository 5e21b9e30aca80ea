/* Counts what a program allocates and frees, on the host and on the device.
   Link with -Wl,--wrap= of each function. Reports at exit what is left, and at
   once what is freed without being allocated. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { Limit = 4096 };
static struct {
  const char *name;
  void *live[Limit];
  long count, made;
} host = {"host"}, device = {"device"};

#define NOTE_ALLOCATION(where, pointer)                                        \
  do {                                                                         \
    ++(where).made;                                                            \
    if ((pointer) && (where).count < Limit)                                    \
      (where).live[(where).count++] = (pointer);                               \
  } while (0)

#define NOTE_FREE(where, pointer)                                              \
  do {                                                                         \
    long n = 0;                                                                \
    while (n < (where).count && (where).live[n] != (pointer))                  \
      ++n;                                                                     \
    if (n == (where).count)                                                    \
      printf("%s: freed without being allocated\n", (where).name);             \
    else                                                                       \
      (where).live[n] = (where).live[--(where).count];                         \
  } while (0)

void *__real_malloc(size_t bytes);
void __real_free(void *pointer);
void *__real_mgpuMemAlloc(uint64_t bytes, void *stream, char isHostShared);
void __real_mgpuMemFree(void *pointer, void *stream);

void *__wrap_malloc(size_t bytes) {
  void *pointer = __real_malloc(bytes);
  NOTE_ALLOCATION(host, pointer);
  return pointer;
}

void __wrap_free(void *pointer) {
  if (pointer)
    NOTE_FREE(host, pointer);
  __real_free(pointer);
}

void *__wrap_mgpuMemAlloc(uint64_t bytes, void *stream, char isHostShared) {
  void *pointer = __real_mgpuMemAlloc(bytes, stream, isHostShared);
  NOTE_ALLOCATION(device, pointer);
  return pointer;
}

void __wrap_mgpuMemFree(void *pointer, void *stream) {
  NOTE_FREE(device, pointer);
  __real_mgpuMemFree(pointer, stream);
}

__attribute__((destructor)) static void report(void) {
  printf("%s: %ld allocated, %ld left\n", host.name, host.made, host.count);
  printf("%s: %ld allocated, %ld left\n", device.name, device.made,
         device.count);
}
