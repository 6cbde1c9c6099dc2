// Times what CUB and Thrust have beside a sort, on the shapes of `cargo bench --bench features`:
// runs, unique, lower_bound, scan, select, histogram, merge. Prints a table.
//
//     bash benches/peers/build after && target/peers/after
//
// Numbers are random. The GPU sorts other keys before each timed call, so that its clock stays up.
// Times are medians, of CUDA events; temporary memory is allocated before.

#include <cub/cub.cuh>
#include <cub/version.cuh>
#include <thrust/binary_search.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace
{

constexpr int timed = 11;
constexpr std::size_t temporary_bytes = std::size_t{1} << 30;

void check(cudaError_t error)
{
    if (error != cudaSuccess)
    {
        std::fprintf(stderr, "after: %s\n", cudaGetErrorString(error));
        std::exit(3);
    }
}

template <typename T>
T *room(std::size_t count)
{
    T *memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)));
    return memory;
}

template <typename T>
T *filled(const std::vector<T> &values)
{
    T *memory = room<T>(values.size());
    check(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

// What is timed gets temporary memory and its size.
using Call = std::function<cudaError_t(void *, std::size_t &)>;

// Newer headers ask the host whether it is a predicate, which a lambda of the device is not.
struct IsOdd
{
    __host__ __device__ bool operator()(std::uint32_t value) const { return (value & 1) == 1; }
};

class Timer
{
public:
    Timer(const std::vector<std::uint32_t> &noise)
        : other{filled(noise)}, sorted{room<std::uint32_t>(noise.size())},
          count{static_cast<int>(noise.size())}, memory{room<char>(temporary_bytes)}
    {
        check(cudaEventCreate(&begin));
        check(cudaEventCreate(&end));
    }

    void row(const char *name, const Call &call)
    {
        std::vector<float> times;
        for (int run = 0; run <= timed; ++run)
        {
            std::size_t bytes = temporary_bytes;
            for (int i = 0; i < 3; ++i)
            {
                check(cub::DeviceRadixSort::SortKeys(memory, bytes, other, sorted, count));
            }
            bytes = temporary_bytes;
            check(cudaEventRecord(begin));
            check(call(memory, bytes));
            check(cudaEventRecord(end));
            check(cudaEventSynchronize(end));
            float ms = 0;
            check(cudaEventElapsedTime(&ms, begin, end));
            if (run > 0)
            {
                times.push_back(ms);
            }
        }
        std::sort(times.begin(), times.end());
        std::printf("| %s | %.3f |\n", name, times[times.size() / 2]);
    }

private:
    std::uint32_t *other, *sorted;
    int count;
    char *memory;
    cudaEvent_t begin{}, end{};
};

} // namespace

int main()
{
    const std::size_t n = std::size_t{1} << 24, many = std::size_t{1} << 26;
    const int len = static_cast<int>(n), len_many = static_cast<int>(many);
    const int half = len / 2, quarter = len / 4;
    std::mt19937_64 random{1};
    std::vector<std::uint32_t> noise(many);
    for (auto &word : noise)
    {
        word = static_cast<std::uint32_t>(random());
    }
    const std::vector<std::uint32_t> host_keys(noise.begin(), noise.begin() + len);
    auto host_sorted = host_keys;
    std::sort(host_sorted.begin(), host_sorted.end());
    std::vector<std::uint32_t> host_needles(host_keys.begin(), host_keys.begin() + quarter);
    for (auto &needle : host_needles)
    {
        needle = ~needle;
    }
    auto host_in_order = host_needles;
    std::sort(host_in_order.begin(), host_in_order.end());
    std::vector<std::uint32_t> host_flags(many), host_evens, host_odds;
    std::vector<std::uint8_t> host_bytes(many);
    for (std::size_t i = 0; i < many; ++i)
    {
        host_flags[i] = noise[i] >> 31;
        host_bytes[i] = static_cast<std::uint8_t>(noise[i] >> 31);
    }
    for (std::size_t i = 0; i < n; i += 2)
    {
        host_evens.push_back(host_sorted[i]);
        host_odds.push_back(host_sorted[i + 1]);
    }

    auto *keys = filled(host_keys), *sorted = filled(host_sorted), *values = filled(noise);
    auto *needles = filled(host_needles), *in_order = filled(host_in_order);
    auto *flags = filled(host_flags), *evens = filled(host_evens), *odds = filled(host_odds);
    auto *bytes_of_flags = filled(host_bytes);
    auto *to = room<std::uint32_t>(2 * many), *also = room<std::uint32_t>(n);
    auto *number = room<std::uint32_t>(1);
    auto *wide = room<std::uint64_t>(many);
    check(cudaMemset(wide, 1, many * sizeof(std::uint64_t)));
    Timer timer{host_keys};

    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, 0));
    std::printf("%s, CUB %d.%d.%d\n\n", device.name, CUB_MAJOR_VERSION, CUB_MINOR_VERSION,
                CUB_SUBMINOR_VERSION);
    std::printf("| | ms |\n|---|---|\n");
    timer.row("run-length encoding, 2^24 sorted u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceRunLengthEncode::Encode(memory, size, sorted, to, also, number, len);
    });
    timer.row("unique, 2^24 sorted u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceSelect::Unique(memory, size, sorted, to, number, len);
    });
    const auto find = [&](std::uint32_t *wanted) {
        const auto at = [](std::uint32_t *memory) { return thrust::device_pointer_cast(memory); };
        thrust::lower_bound(thrust::device, at(sorted), at(sorted + len), at(wanted),
                            at(wanted + quarter), at(to));
        return cudaGetLastError();
    };
    timer.row("lower_bound of 2^22 in order, in 2^24 u32",
              [&](void *, std::size_t &) { return find(in_order); });
    timer.row("lower_bound of 2^22 at random, in 2^24 u32",
              [&](void *, std::size_t &) { return find(needles); });
    timer.row("merge, 2^23 and 2^23 pairs of u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceMerge::MergePairs(memory, size, evens, values, half, odds,
                                            values + half, half, to, also);
    });
    timer.row("radix sort of 16 bits, 2^24 pairs of u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceRadixSort::SortPairs(memory, size, keys, to, values, also, len, 0, 16);
    });
    timer.row("select by flags of 32 bits, 2^26 u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceSelect::Flagged(memory, size, values, flags, to, number, len_many);
    });
    timer.row("select by flags of 8 bits, 2^26 u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceSelect::Flagged(memory, size, values, bytes_of_flags, to, number,
                                          len_many);
    });
    timer.row("select if odd, 2^26 u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceSelect::If(memory, size, values, to, number, len_many, IsOdd{});
    });
    for (const int bins : {256, 1024, 4096})
    {
        const auto name = "histogram, " + std::to_string(bins) + " even bins, 2^24 u32";
        timer.row(name.c_str(), [&](void *memory, std::size_t &size) {
            return cub::DeviceHistogram::HistogramEven(
                memory, size, keys, to, bins + 1, std::uint32_t{0},
                std::numeric_limits<std::uint32_t>::max(), len);
        });
    }
    timer.row("exclusive sum, 2^26 u32", [&](void *memory, std::size_t &size) {
        return cub::DeviceScan::ExclusiveSum(memory, size, values, to, len_many);
    });
    timer.row("inclusive sum, 2^26 f32", [&](void *memory, std::size_t &size) {
        return cub::DeviceScan::InclusiveSum(memory, size, reinterpret_cast<float *>(values),
                                             reinterpret_cast<float *>(to), len_many);
    });
    timer.row("exclusive sum, 2^26 u64", [&](void *memory, std::size_t &size) {
        return cub::DeviceScan::ExclusiveSum(memory, size, wide,
                                             reinterpret_cast<std::uint64_t *>(to), len_many);
    });
    check(cudaDeviceSynchronize());
}
