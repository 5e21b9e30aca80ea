// Whether a GPU reads or writes at a tensor map's address when a box lies outside the
// map: here the address is in memory that is reserved and not mapped, as that of
// "sequences" maps (include/fmha/Runtime/README.md) may be, and the tensor is a mapped
// granule after it. Every case runs in a process of its own, since a fault ends the
// context.
//
//   nvcc -std=c++17 -arch=sm_90a scripts/probes/tma_outside.cu -lcuda -o probe
//   ./probe
//
// Exit status 0 if every case came out as the table says.

#include "probe.cuh"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

constexpr int columns = 64, boxRows = 16;
constexpr int64_t granule = 2 << 20, stride = columns * 2;
constexpr int rows = int(granule / stride);

enum class Copy { Load, Store, Prefetch };
const char *const copyNames[] = {"load", "store", "prefetch"};

/// Rows 0 to `rows` of the map are not mapped; those after them are the tensor.
struct Case {
  Copy copy;
  const char *where;
  int column, row, head;
  bool faults;
};

const Case cases[] = {
    {Copy::Load, "inside", 0, 2 * rows - boxRows, 0, false},
    {Copy::Load, "over the last row", 0, 2 * rows - 1, 0, false},
    {Copy::Load, "after the last row", 0, 2 * rows, 0, true},
    {Copy::Load, "far after the last row", 0, 5 * rows, 0, true},
    {Copy::Load, "before the first row", 0, -boxRows, 0, true},
    {Copy::Load, "after the last column", columns, rows, 0, true},
    {Copy::Load, "after the last head", 0, rows, 1, true},
    {Copy::Store, "inside", 0, 2 * rows - boxRows, 0, false},
    {Copy::Store, "over the last row", 0, 2 * rows - 1, 0, false},
    {Copy::Store, "after the last row", 0, 2 * rows, 0, false},
    {Copy::Store, "far after the last row", 0, 5 * rows, 0, false},
    {Copy::Store, "after the last column", columns, rows, 0, false},
    {Copy::Store, "after the last head", 0, rows, 1, false},
    {Copy::Prefetch, "inside", 0, 2 * rows - boxRows, 0, false},
    {Copy::Prefetch, "after the last row", 0, 2 * rows, 0, false},
};

__global__ void touch(const __grid_constant__ CUtensorMap map, Copy copy,
                      int column, int row, int head) {
  __shared__ alignas(1024) uint16_t tile[boxRows * columns];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t at = uint32_t(__cvta_generic_to_shared(tile));
  uint32_t full = uint32_t(__cvta_generic_to_shared(&barrier));
  tile[threadIdx.x] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x)
    return;
  if (copy == Copy::Store) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
                 "[%0, {%2, %3, %4}], [%1];\n"
                 "cp.async.bulk.commit_group;\n"
                 "cp.async.bulk.wait_group 0;" ::"l"(&map),
                 "r"(at), "r"(column), "r"(row), "r"(head)
                 : "memory");
    return;
  }
  if (copy == Copy::Prefetch) {
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile "
                 "[%0, {%1, %2, %3}];" ::"l"(&map),
                 "r"(column), "r"(row), "r"(head)
                 : "memory");
    return;
  }
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
               "fence.mbarrier_init.release.cluster;\n"
               "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   full),
               "r"(boxRows * columns * 2)
               : "memory");
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(at),
               "l"(&map), "r"(full), "r"(column), "r"(row), "r"(head)
               : "memory");
  asm volatile("{\n .reg .pred p;\n wait:\n"
               " mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
               " @!p bra wait;\n}" ::"r"(full)
               : "memory");
}

/// One mapped granule in the middle of 64 reserved ones.
static CUdeviceptr mapGranule() {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUdeviceptr base;
  check(cuMemAddressReserve(&base, 64 * granule, 0, 0, 0), "reserve");
  base += 32 * granule;
  CUmemGenericAllocationHandle handle;
  check(cuMemCreate(&handle, granule, &prop, 0), "create");
  check(cuMemMap(base, granule, 0, handle, 0), "map");
  CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  check(cuMemSetAccess(base, granule, &access, 1), "set access");
  return base;
}

static CUtensorMap encode(CUdeviceptr address, int extent) {
  CUtensorMap map;
  cuuint64_t dims[] = {columns, cuuint64_t(extent), 1}, strides[] = {stride, 2 * granule};
  cuuint32_t box[] = {columns, boxRows, 1}, ones[] = {1, 1, 1};
  check(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3,
                               reinterpret_cast<void *>(address), dims, strides,
                               box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return map;
}

/// Exit status 3 after a fault.
static int runCase(const Case &one, bool mapped) {
  cudaFree(nullptr);
  CUdeviceptr tensor = mapGranule();
  CUtensorMap map = encode(mapped ? tensor : tensor - granule, mapped ? rows : 2 * rows);
  int row = one.row - (mapped && one.row > 0 ? rows : 0);
  touch<<<1, 128>>>(map, one.copy, one.column, row, one.head);
  CUresult result = cuCtxSynchronize();
  if (result == CUDA_ERROR_ILLEGAL_ADDRESS)
    return 3;
  check(result, "touch");
  return 0;
}

static const char *wordOf(int status) {
  return status == 0 ? "runs" : status == 3 ? "faults" : "cannot run";
}

int main(int argc, char **argv) {
  if (argc == 3)
    return runCase(cases[std::atoi(argv[1])], std::atoi(argv[2]));
  int wrong = 0;
  for (size_t n = 0; n < sizeof cases / sizeof *cases; ++n)
    for (int mapped : {0, 1}) {
      std::string again = std::string(argv[0]) + " " + std::to_string(n) + " " +
                          std::to_string(mapped);
      int status = std::system(again.c_str());
      status = status & 0xff ? 1 : status >> 8 & 0xff;
      bool asSaid = status == (cases[n].faults && !mapped ? 3 : 0);
      wrong += !asSaid;
      std::printf("%-9s%-25s%-34s%s%s\n", copyNames[int(cases[n].copy)],
                  cases[n].where,
                  mapped ? "address of the tensor" : "address in unmapped memory",
                  wordOf(status), asSaid ? "" : ", NOT AS SAID");
    }
  return wrong != 0;
}
