// What a GPU does with the tensor maps of sequences (include/fmha/Runtime/README.md,
// "sequences"): a fifth dimension over the stride of the rows, and an address that lies
// as many rows before the tensor as it has. Loads after a sequence must be zeros,
// stores after it must write nothing.
//
//   nvcc -std=c++17 -arch=sm_90a scripts/probes/tma_sequences.cu -lcuda -o probe
//   ./probe [seed] [cases]
//
// Exit status 0 if every case came out as said.

#include "probe.cuh"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

constexpr int columns = 64, boxRows = 16;

__global__ void copy(const __grid_constant__ CUtensorMap from,
                     const __grid_constant__ CUtensorMap to, int row, int head,
                     int batch, int end, int rowTo, int endTo,
                     uint16_t *loaded) {
  __shared__ alignas(1024) uint16_t tile[boxRows * columns];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t at = uint32_t(__cvta_generic_to_shared(tile));
  uint32_t full = uint32_t(__cvta_generic_to_shared(&barrier));
  for (int i = threadIdx.x; i < boxRows * columns; i += blockDim.x)
    tile[i] = 0xdead;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     full),
                 "r"(boxRows * columns * 2)
                 : "memory");
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::"
                 "complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::
                     "r"(at),
                 "l"(&from), "r"(full), "r"(0), "r"(row), "r"(head),
                 "r"(batch), "r"(end)
                 : "memory");
  }
  asm volatile("{\n .reg .pred p;\n wait:\n"
               " mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
               " @!p bra wait;\n}" ::"r"(full)
               : "memory");
  for (int i = threadIdx.x; i < boxRows * columns; i += blockDim.x)
    loaded[i] = tile[i];
  // Stored values differ from loaded ones.
  for (int i = threadIdx.x; i < boxRows * columns; i += blockDim.x)
    tile[i] = uint16_t(i + 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group "
                 "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&to),
                 "r"(at), "r"(0), "r"(rowTo), "r"(head), "r"(batch), "r"(endTo)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::
                     : "memory");
  }
}

struct Tensor {
  int64_t rows, heads, batch, stride[3];
  uint16_t *address;
  std::vector<uint16_t> host;

  int64_t at(int64_t b, int64_t r, int64_t h, int64_t c) const {
    return r * stride[0] + h * stride[1] + b * stride[2] + c;
  }
  CUtensorMap map() const {
    CUtensorMap made;
    cuuint64_t dims[] = {columns, cuuint64_t(rows), cuuint64_t(heads),
                         cuuint64_t(batch), cuuint64_t(rows + 1)};
    cuuint64_t strides[] = {
        cuuint64_t(stride[0] * 2), cuuint64_t(stride[1] * 2),
        cuuint64_t(stride[2] * 2), cuuint64_t(stride[0] * 2)};
    cuuint32_t box[] = {columns, boxRows, 1, 1, 1}, ones[] = {1, 1, 1, 1, 1};
    check(cuTensorMapEncodeTiled(
              &made, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 5,
              address - rows * stride[0], dims, strides, box, ones,
              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
              CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "cuTensorMapEncodeTiled");
    return made;
  }
};

static Tensor makeTensor(std::mt19937 &random) {
  Tensor t;
  t.rows = 1 + random() % 60;
  t.heads = 1 + random() % 3;
  t.batch = 1 + random() % 3;
  // Batch by length by heads, or batch by heads by length.
  bool headsInside = random() % 2;
  int64_t row = columns + 8 * (random() % 3);
  t.stride[1] = headsInside ? row : row * t.rows;
  t.stride[0] = headsInside ? row * t.heads : row;
  t.stride[2] = row * t.rows * t.heads;
  t.host.resize(t.stride[2] * t.batch);
  for (uint16_t &one : t.host)
    one = uint16_t(random() | 1);
  cudaMalloc(&t.address, t.host.size() * 2);
  cudaMemcpy(t.address, t.host.data(), t.host.size() * 2,
             cudaMemcpyHostToDevice);
  return t;
}

/// A sequence inside a tensor, and the first row of a box in it.
struct Place {
  int64_t start, length, row;
  Place(const Tensor &t, std::mt19937 &random) {
    start = random() % (t.rows + 1);
    length = random() % (t.rows - start + 1);
    row = random() % 40;
  }
  int coordinate(const Tensor &t) const { return int(t.rows - length + row); }
  int end() const { return int(start + length); }
};

static int runCase(std::mt19937 &random, uint16_t *loaded) {
  Tensor from = makeTensor(random), to = makeTensor(random);
  int head = random() % std::min(from.heads, to.heads);
  int batch = random() % std::min(from.batch, to.batch);
  Place source(from, random), target(to, random);
  copy<<<1, 128>>>(from.map(), to.map(), source.coordinate(from), head, batch,
                   source.end(), target.coordinate(to), target.end(), loaded);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(2);
  }
  std::vector<uint16_t> got(boxRows * columns), expected = to.host,
                        after(to.host.size());
  cudaMemcpy(got.data(), loaded, got.size() * 2, cudaMemcpyDeviceToHost);
  cudaMemcpy(after.data(), to.address, after.size() * 2,
             cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int r = 0; r < boxRows; ++r)
    for (int c = 0; c < columns; ++c) {
      bool inside = source.row + r < source.length;
      uint16_t want =
          inside ? from.host[from.at(batch, source.start + source.row + r, head,
                                     c)]
                 : 0;
      wrong += got[r * columns + c] != want;
      if (target.row + r < target.length)
        expected[to.at(batch, target.start + target.row + r, head, c)] =
            uint16_t(r * columns + c + 1);
    }
  for (size_t i = 0; i < after.size(); ++i)
    wrong += after[i] != expected[i];
  cudaFree(from.address);
  cudaFree(to.address);
  return wrong;
}

int main(int argc, char **argv) {
  unsigned seed = argc > 1 ? std::atoi(argv[1]) : std::random_device{}();
  int cases = argc > 2 ? std::atoi(argv[2]) : 2000, wrong = 0;
  std::mt19937 random(seed);
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::printf("%s, driver %d, seed %u\n", device.name, driver, seed);
  uint16_t *loaded;
  cudaMalloc(&loaded, boxRows * columns * 2);
  for (int n = 0; n < cases; ++n)
    if (int elements = runCase(random, loaded)) {
      std::printf("WRONG: case %d, %d elements\n", n, elements);
      ++wrong;
    }
  std::printf("%d of %d cases are as said\n", cases - wrong, cases);
  return wrong != 0;
}
