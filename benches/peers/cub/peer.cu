// Times the sorts of CUB and Thrust on one file of keys. The protocol is in ../README.md.
//
// Every engine has device memory of its own, and all of them sort on one stream. Nothing waits for
// the device between two sorts but the reading of the events.

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/version.cuh>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace
{

// An idle GPU lowers its clock within milliseconds; this much work brings it up again.
constexpr std::chrono::milliseconds warm_up{400};

// So much work is done right before each timed sort, so that the clock stays up.
constexpr double busy_seconds = 0.005;

constexpr unsigned most_untimed = 256;

// While the GPU is held for so long, the host enqueues the timed sort: a small sort would otherwise
// be over before its next kernel is launched, and the time would be that of the launches.
constexpr unsigned long long hold_nanoseconds = 100'000;

// CUB counts the keys in 32 bits then, which is faster than in 64.
constexpr std::uint64_t most_keys = 0x7fff'ffff;

const char *const usage =
    "Times the sorts of CUB and Thrust on a file of keys, and checks what they return.\n"
    "\n"
    "Usage: cub --input KEYS --expected SORTED --type u32|u64 --repeats N [--pairs] [--engines A,B]\n"
    "\n"
    "  --input KEYS       the keys: raw, little-endian\n"
    "  --expected SORTED  the same keys, sorted\n"
    "  --type TYPE        u32 or u64\n"
    "  --repeats N        timed sorts of each engine, 1 to 1000000\n"
    "  --pairs            sort pairs of a key and a 32-bit value\n"
    "  --engines A,B      some of cub-merge, cub-radix, thrust-merge (default: all); of pairs,\n"
    "                     some of cub-merge-pairs, cub-radix-pairs\n"
    "  -h, --help         print this\n"
    "\n"
    "Prints one JSON object on one line. Exit status: 0, also where an engine cannot sort these\n"
    "keys or sorts them wrong, which the JSON says; 2, bad usage or files; 3, no device.\n";

// Bad usage, or files that cannot be taken.
struct UsageError : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

void check(cudaError_t status, const char *what)
{
  if (status != cudaSuccess)
  {
    // What is not the device's end is forgotten, so that the next engine has its turn.
    (void)cudaGetLastError();
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status) + " (CUDA error "
                             + std::to_string(static_cast<int>(status)) + ")");
  }
}

// The order of the keys. Thrust knows its own comparators, and sorts by radix where it is given
// one of these; this one it does not know.
struct Less
{
  template <typename Key>
  __host__ __device__ bool operator()(const Key &a, const Key &b) const
  {
    return a < b;
  }
};

__device__ unsigned long long device_nanoseconds()
{
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold(unsigned long long nanoseconds)
{
  const unsigned long long begin = device_nanoseconds();
  while (device_nanoseconds() - begin < nanoseconds)
  {
  }
}

// Device memory, given back at the end of its scope.
class Memory
{
public:
  // Never none: CUB takes a null pointer for the question how much it needs.
  explicit Memory(std::size_t bytes)
      : bytes_(bytes)
  {
    check(cudaMalloc(&start_, std::max<std::size_t>(bytes, 16)), "cudaMalloc");
  }
  ~Memory()
  {
    (void)cudaFree(start_);
  }
  Memory(const Memory &)            = delete;
  Memory &operator=(const Memory &) = delete;

  void *start() const
  {
    return start_;
  }
  std::size_t bytes() const
  {
    return bytes_;
  }

private:
  void *start_ = nullptr;
  std::size_t bytes_;
};

class Stream
{
public:
  Stream()
  {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~Stream()
  {
    (void)cudaStreamDestroy(stream_);
  }
  Stream(const Stream &)            = delete;
  Stream &operator=(const Stream &) = delete;

  cudaStream_t get() const
  {
    return stream_;
  }
  void wait() const
  {
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

private:
  cudaStream_t stream_ = nullptr;
};

class Event
{
public:
  Event()
  {
    check(cudaEventCreate(&event_), "cudaEventCreate");
  }
  ~Event()
  {
    (void)cudaEventDestroy(event_);
  }
  Event(const Event &)            = delete;
  Event &operator=(const Event &) = delete;

  void record(const Stream &stream) const
  {
    check(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
  }
  double seconds_since(const Event &begin) const
  {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1e3;
  }

private:
  cudaEvent_t event_ = nullptr;
};

// Sorts `count` keys that lie in `keys`.
template <typename Key>
class Engine
{
public:
  Engine(const Stream &stream, std::uint32_t count)
      : stream_(stream)
      , count_(count)
      , keys_(std::size_t{count} * sizeof(Key))
  {}
  virtual ~Engine()                 = default;
  Engine(const Engine &)            = delete;
  Engine &operator=(const Engine &) = delete;

  // Enqueues the sort.
  virtual void sort() = 0;
  // Where the sorted keys are after the latest sort.
  virtual const Key *sorted() const
  {
    return keys();
  }
  // Device memory beyond the keys.
  virtual std::size_t scratch_bytes() const = 0;
  // Puts back, on the stream, what goes with the keys.
  virtual void restore_values() {}
  // Where the values are after the latest sort; none where keys are all there is.
  virtual const std::uint32_t *values() const
  {
    return nullptr;
  }

  Key *keys() const
  {
    return static_cast<Key *>(keys_.start());
  }

protected:
  const Stream &stream_;
  const std::uint32_t count_;

private:
  const Memory keys_;
};

// In place, by a comparator.
template <typename Key>
class CubMerge final : public Engine<Key>
{
public:
  CubMerge(const Stream &stream, std::uint32_t count)
      : Engine<Key>(stream, count)
  {
    std::size_t bytes = 0;
    run(nullptr, bytes);
    temporary_ = std::make_unique<Memory>(bytes);
  }
  void sort() override
  {
    std::size_t bytes = temporary_->bytes();
    run(temporary_->start(), bytes);
  }
  std::size_t scratch_bytes() const override
  {
    return temporary_->bytes();
  }

private:
  void run(void *temporary, std::size_t &bytes)
  {
    check(cub::DeviceMergeSort::SortKeys(
            temporary, bytes, this->keys(), this->count_, Less{}, this->stream_.get()),
          "cub::DeviceMergeSort::SortKeys");
  }

  std::unique_ptr<Memory> temporary_;
};

// To and fro between the keys and a second buffer of the same size, which is CUB's way that needs
// the least memory and may overwrite the input, as the other engines do.
template <typename Key>
class CubRadix final : public Engine<Key>
{
public:
  CubRadix(const Stream &stream, std::uint32_t count)
      : Engine<Key>(stream, count)
      , second_(std::size_t{count} * sizeof(Key))
      , sorted_(this->keys())
  {
    std::size_t bytes = 0;
    run(nullptr, bytes);
    temporary_ = std::make_unique<Memory>(bytes);
  }
  void sort() override
  {
    std::size_t bytes = temporary_->bytes();
    run(temporary_->start(), bytes);
  }
  const Key *sorted() const override
  {
    return sorted_;
  }
  std::size_t scratch_bytes() const override
  {
    return second_.bytes() + temporary_->bytes();
  }

private:
  void run(void *temporary, std::size_t &bytes)
  {
    cub::DoubleBuffer<Key> buffers(this->keys(), static_cast<Key *>(second_.start()));
    check(cub::DeviceRadixSort::SortKeys(temporary,
                                         bytes,
                                         buffers,
                                         this->count_,
                                         0,
                                         static_cast<int>(8 * sizeof(Key)),
                                         this->stream_.get()),
          "cub::DeviceRadixSort::SortKeys");
    sorted_ = buffers.Current();
  }

  const Memory second_;
  const Key *sorted_;
  std::unique_ptr<Memory> temporary_;
};

// The values of pairs: where each key stood.
class Values
{
public:
  Values(const Stream &stream, std::uint32_t count)
      : stream_(stream)
      , first_(std::size_t{count} * sizeof(std::uint32_t))
      , values_(first_.bytes())
  {
    std::vector<std::uint32_t> places(count);
    std::iota(places.begin(), places.end(), 0u);
    check(cudaMemcpyAsync(first_.start(),
                          places.data(),
                          first_.bytes(),
                          cudaMemcpyHostToDevice,
                          stream_.get()),
          "cudaMemcpyAsync of values");
    stream_.wait();
  }
  void restore() const
  {
    check(cudaMemcpyAsync(values_.start(),
                          first_.start(),
                          first_.bytes(),
                          cudaMemcpyDeviceToDevice,
                          stream_.get()),
          "cudaMemcpyAsync of values");
  }
  std::uint32_t *start() const
  {
    return static_cast<std::uint32_t *>(values_.start());
  }
  std::size_t bytes() const
  {
    return values_.bytes();
  }

private:
  const Stream &stream_;
  const Memory first_;
  const Memory values_;
};

// CubMerge of pairs.
template <typename Key>
class CubMergePairs final : public Engine<Key>
{
public:
  CubMergePairs(const Stream &stream, std::uint32_t count)
      : Engine<Key>(stream, count)
      , values_(stream, count)
  {
    std::size_t bytes = 0;
    run(nullptr, bytes);
    temporary_ = std::make_unique<Memory>(bytes);
  }
  void sort() override
  {
    std::size_t bytes = temporary_->bytes();
    run(temporary_->start(), bytes);
  }
  std::size_t scratch_bytes() const override
  {
    return temporary_->bytes();
  }
  void restore_values() override
  {
    values_.restore();
  }
  const std::uint32_t *values() const override
  {
    return values_.start();
  }

private:
  void run(void *temporary, std::size_t &bytes)
  {
    check(cub::DeviceMergeSort::SortPairs(temporary,
                                          bytes,
                                          this->keys(),
                                          values_.start(),
                                          this->count_,
                                          Less{},
                                          this->stream_.get()),
          "cub::DeviceMergeSort::SortPairs");
  }

  const Values values_;
  std::unique_ptr<Memory> temporary_;
};

// CubRadix of pairs.
template <typename Key>
class CubRadixPairs final : public Engine<Key>
{
public:
  CubRadixPairs(const Stream &stream, std::uint32_t count)
      : Engine<Key>(stream, count)
      , values_(stream, count)
      , second_(std::size_t{count} * sizeof(Key))
      , second_values_(values_.bytes())
      , sorted_(this->keys())
      , sorted_values_(values_.start())
  {
    std::size_t bytes = 0;
    run(nullptr, bytes);
    temporary_ = std::make_unique<Memory>(bytes);
  }
  void sort() override
  {
    std::size_t bytes = temporary_->bytes();
    run(temporary_->start(), bytes);
  }
  const Key *sorted() const override
  {
    return sorted_;
  }
  std::size_t scratch_bytes() const override
  {
    return second_.bytes() + second_values_.bytes() + temporary_->bytes();
  }
  void restore_values() override
  {
    values_.restore();
  }
  const std::uint32_t *values() const override
  {
    return sorted_values_;
  }

private:
  void run(void *temporary, std::size_t &bytes)
  {
    cub::DoubleBuffer<Key> keys(this->keys(), static_cast<Key *>(second_.start()));
    cub::DoubleBuffer<std::uint32_t> values(
      values_.start(), static_cast<std::uint32_t *>(second_values_.start()));
    check(cub::DeviceRadixSort::SortPairs(temporary,
                                          bytes,
                                          keys,
                                          values,
                                          this->count_,
                                          0,
                                          static_cast<int>(8 * sizeof(Key)),
                                          this->stream_.get()),
          "cub::DeviceRadixSort::SortPairs");
    sorted_        = keys.Current();
    sorted_values_ = values.Current();
  }

  const Values values_;
  const Memory second_;
  const Memory second_values_;
  const Key *sorted_;
  const std::uint32_t *sorted_values_;
  std::unique_ptr<Memory> temporary_;
};

// Gives Thrust the memory of its earlier sorts again: by itself it allocates and frees in every
// sort, for which the device waits, and that would be timed with the sort.
class Cache
{
public:
  using value_type = char;

  Cache()                         = default;
  Cache(const Cache &)            = delete;
  Cache &operator=(const Cache &) = delete;

  char *allocate(std::ptrdiff_t wanted)
  {
    const std::size_t bytes = static_cast<std::size_t>(wanted);
    for (Block &block : blocks_)
    {
      if (block.free && block.memory->bytes() == bytes)
      {
        block.free = false;
        return static_cast<char *>(block.memory->start());
      }
    }
    blocks_.push_back(Block{std::make_unique<Memory>(bytes), false});
    return static_cast<char *>(blocks_.back().memory->start());
  }
  void deallocate(char *start, std::size_t)
  {
    for (Block &block : blocks_)
    {
      if (block.memory->start() == start)
      {
        block.free = true;
      }
    }
  }
  std::size_t bytes() const
  {
    std::size_t sum = 0;
    for (const Block &block : blocks_)
    {
      sum += block.memory->bytes();
    }
    return sum;
  }

private:
  struct Block
  {
    std::unique_ptr<Memory> memory;
    bool free;
  };

  std::vector<Block> blocks_;
};

template <typename Key>
class ThrustMerge final : public Engine<Key>
{
public:
  using Engine<Key>::Engine;

  void sort() override
  {
    // par_nosync: the host does not wait for the end of the sort, as it does not with CUB.
    thrust::sort(thrust::cuda::par_nosync(cache_).on(this->stream_.get()),
                 this->keys(),
                 this->keys() + this->count_,
                 Less{});
  }
  std::size_t scratch_bytes() const override
  {
    return cache_.bytes();
  }

private:
  Cache cache_;
};

struct Arguments
{
  std::string input;
  std::string expected;
  std::string type;
  unsigned repeats = 0;
  bool pairs       = false;
  std::vector<std::string> engines;
};

// The engines that there are, of keys or of pairs.
std::vector<std::string> known_engines(bool pairs)
{
  if (pairs)
  {
    return {"cub-merge-pairs", "cub-radix-pairs"};
  }
  return {"cub-merge", "cub-radix", "thrust-merge"};
}

// What comes of one engine.
struct Outcome
{
  std::string engine;
  std::vector<double> times;
  std::size_t scratch_bytes = 0;
  bool verified             = false;
  // Why there is nothing of the above.
  std::string error;
};

template <typename Key>
std::unique_ptr<Engine<Key>> make(const std::string &name, const Stream &stream, std::uint32_t count)
{
  if (name == "cub-merge")
  {
    return std::make_unique<CubMerge<Key>>(stream, count);
  }
  if (name == "cub-radix")
  {
    return std::make_unique<CubRadix<Key>>(stream, count);
  }
  if (name == "cub-merge-pairs")
  {
    return std::make_unique<CubMergePairs<Key>>(stream, count);
  }
  if (name == "cub-radix-pairs")
  {
    return std::make_unique<CubRadixPairs<Key>>(stream, count);
  }
  return std::make_unique<ThrustMerge<Key>>(stream, count);
}

// An engine in the course of the measurement.
template <typename Key>
struct Contender
{
  Outcome outcome;
  std::unique_ptr<Engine<Key>> engine;
  // Seconds of its latest sort.
  double latest = 0;

  // Does something with the engine, which is over and out when that fails.
  template <typename Work>
  void attempt(Work work)
  {
    if (!outcome.error.empty())
    {
      return;
    }
    try
    {
      work();
    }
    catch (const std::exception &error)
    {
      outcome.error = error.what();
      // Its memory may be just what the next one needs.
      engine.reset();
    }
  }
};

template <typename Key>
class Measurement
{
public:
  Measurement(const std::vector<char> &input, std::uint32_t count)
      : count_(count)
      , host_(input)
      , input_(input.size())
  {
    // On this stream, since it waits for no other.
    check(cudaMemcpyAsync(
            input_.start(), input.data(), input.size(), cudaMemcpyHostToDevice, stream_.get()),
          "cudaMemcpyAsync to the device");
    stream_.wait();
  }

  std::vector<Outcome> run(const Arguments &arguments, const std::vector<char> &expected)
  {
    std::vector<Contender<Key>> contenders(arguments.engines.size());
    for (std::size_t i = 0; i < contenders.size(); ++i)
    {
      Contender<Key> &contender = contenders[i];
      contender.outcome.engine  = arguments.engines[i];
      contender.attempt([&] {
        contender.engine = make<Key>(contender.outcome.engine, stream_, count_);
      });
    }
    // Twice at least: the first sort loads the kernels, too.
    const auto until = std::chrono::steady_clock::now() + warm_up;
    for (int round = 0; round < 2 || std::chrono::steady_clock::now() < until; ++round)
    {
      take_turns(contenders, [](Contender<Key> &) {});
      if (std::none_of(contenders.begin(), contenders.end(), [](const Contender<Key> &contender) {
            return contender.outcome.error.empty();
          }))
      {
        break;
      }
    }
    for (unsigned round = 0; round < arguments.repeats; ++round)
    {
      take_turns(contenders, [](Contender<Key> &contender) {
        contender.outcome.times.push_back(contender.latest);
      });
    }
    std::vector<char> sorted(expected.size());
    std::vector<Outcome> outcomes;
    for (Contender<Key> &contender : contenders)
    {
      contender.attempt([&] {
        check(cudaMemcpyAsync(sorted.data(),
                              contender.engine->sorted(),
                              sorted.size(),
                              cudaMemcpyDeviceToHost,
                              stream_.get()),
              "cudaMemcpyAsync from the device");
        stream_.wait();
        contender.outcome.verified      = sorted == expected && keeps_values(*contender.engine, sorted);
        contender.outcome.scratch_bytes = contender.engine->scratch_bytes();
      });
      outcomes.push_back(contender.outcome);
    }
    return outcomes;
  }

private:
  // Whether every key still has its value, which is where it stood.
  bool keeps_values(const Engine<Key> &engine, const std::vector<char> &sorted)
  {
    if (engine.values() == nullptr)
    {
      return true;
    }
    std::vector<std::uint32_t> values(count_);
    check(cudaMemcpyAsync(values.data(),
                          engine.values(),
                          std::size_t{count_} * sizeof(std::uint32_t),
                          cudaMemcpyDeviceToHost,
                          stream_.get()),
          "cudaMemcpyAsync of values");
    stream_.wait();
    std::vector<bool> seen(count_);
    for (std::uint32_t i = 0; i < count_; ++i)
    {
      const std::uint32_t place = values[i];
      if (place >= count_ || seen[place]
          || std::memcmp(&host_[place * sizeof(Key)], &sorted[i * sizeof(Key)], sizeof(Key)) != 0)
      {
        return false;
      }
      seen[place] = true;
    }
    return true;
  }

  template <typename Use>
  void take_turns(std::vector<Contender<Key>> &contenders, Use use)
  {
    for (Contender<Key> &contender : contenders)
    {
      contender.attempt([&] {
        contender.latest = sort_timed(*contender.engine, contender.latest);
        use(contender);
      });
    }
  }

  // Sorts some times untimed, by the seconds that one sort took the last time, and then once timed.
  double sort_timed(Engine<Key> &engine, double latest)
  {
    unsigned untimed = 1;
    if (latest > 0)
    {
      const double times = std::ceil(busy_seconds / latest);
      untimed = static_cast<unsigned>(std::min(std::max(times, 1.0), double{most_untimed}));
    }
    for (unsigned i = 0; i < untimed; ++i)
    {
      restore(engine);
      engine.sort();
    }
    hold<<<1, 1, 0, stream_.get()>>>(hold_nanoseconds);
    check(cudaGetLastError(), "the launch of a kernel");
    restore(engine);
    begin_.record(stream_);
    engine.sort();
    end_.record(stream_);
    stream_.wait();
    return end_.seconds_since(begin_);
  }

  // Puts the keys back in their first order.
  void restore(Engine<Key> &engine)
  {
    check(cudaMemcpyAsync(engine.keys(),
                          input_.start(),
                          std::size_t{count_} * sizeof(Key),
                          cudaMemcpyDeviceToDevice,
                          stream_.get()),
          "cudaMemcpyAsync on the device");
    engine.restore_values();
  }

  const std::uint32_t count_;
  const std::vector<char> &host_;
  const Memory input_;
  const Stream stream_;
  const Event begin_;
  const Event end_;
};

template <typename Key>
std::vector<Outcome> measure(const Arguments &arguments,
                             const std::vector<char> &input,
                             const std::vector<char> &expected)
{
  std::string error;
  const std::size_t count = input.size() / sizeof(Key);
  if (count > most_keys)
  {
    error = "more than " + std::to_string(most_keys) + " keys";
  }
  else
  {
    try
    {
      return Measurement<Key>(input, static_cast<std::uint32_t>(count)).run(arguments, expected);
    }
    catch (const std::exception &caught)
    {
      error = caught.what();
    }
  }
  std::vector<Outcome> outcomes;
  for (const std::string &engine : arguments.engines)
  {
    Outcome outcome;
    outcome.engine = engine;
    outcome.error  = error;
    outcomes.push_back(outcome);
  }
  return outcomes;
}

// A string of JSON.
std::string quoted(const std::string &text)
{
  std::string json = "\"";
  for (const char c : text)
  {
    if (c == '"' || c == '\\')
    {
      json += '\\';
      json += c;
    }
    else if (static_cast<unsigned char>(c) < 0x20)
    {
      json += ' ';
    }
    else
    {
      json += c;
    }
  }
  return json + "\"";
}

std::string json_of(const Outcome &outcome, const std::string &type, std::size_t keys)
{
  std::string json = "{\"engine\":" + quoted(outcome.engine) + ",\"type\":" + quoted(type)
                   + ",\"keys\":" + std::to_string(keys);
  if (!outcome.error.empty())
  {
    return json + ",\"error\":" + quoted(outcome.error) + "}";
  }
  json += ",\"times_s\":[";
  for (std::size_t i = 0; i < outcome.times.size(); ++i)
  {
    char digits[32];
    (void)std::snprintf(digits, sizeof digits, "%.9f", outcome.times[i]);
    json += i == 0 ? "" : ",";
    json += digits;
  }
  json += std::string("],\"verified\":") + (outcome.verified ? "true" : "false");
  json += ",\"scratch_bytes\":" + std::to_string(outcome.scratch_bytes);
  const bool pairs = outcome.engine.find("-pairs") != std::string::npos;
  const char *width = type == "u32" ? "8" : "12";
  return json + ",\"moves\":\"" + (pairs ? std::string("pairs of ") + width + " bytes" : "keys") + "\"}";
}

// "A,B" apart.
std::vector<std::string> split(const std::string &list)
{
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;)
  {
    const std::size_t comma = list.find(',', begin);
    if (comma == std::string::npos)
    {
      parts.push_back(list.substr(begin));
      return parts;
    }
    parts.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
}

unsigned parse_repeats(const std::string &value)
{
  const bool digits = !value.empty() && value.size() <= 7
                   && value.find_first_not_of("0123456789") == std::string::npos;
  const unsigned long number = digits ? std::strtoul(value.c_str(), nullptr, 10) : 0;
  if (number < 1 || number > 1'000'000)
  {
    throw UsageError("--repeats takes a number from 1 to 1000000, not '" + value + "'");
  }
  return static_cast<unsigned>(number);
}

Arguments parse(const std::vector<std::string> &words)
{
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i)
  {
    std::string option = words[i];
    std::string value;
    const std::size_t equals = option.find('=');
    const bool attached      = option.compare(0, 2, "--") == 0 && equals != std::string::npos;
    if (attached)
    {
      value = option.substr(equals + 1);
      option.resize(equals);
    }
    if (words[i] == "--pairs")
    {
      arguments.pairs = true;
      continue;
    }
    if (option != "--input" && option != "--expected" && option != "--type" && option != "--repeats"
        && option != "--engines")
    {
      throw UsageError("unexpected argument '" + words[i] + "': see --help");
    }
    if (!attached)
    {
      if (i + 1 == words.size())
      {
        throw UsageError(option + " needs a value");
      }
      ++i;
      value = words[i];
    }
    if (option == "--input")
    {
      arguments.input = value;
    }
    else if (option == "--expected")
    {
      arguments.expected = value;
    }
    else if (option == "--type")
    {
      if (value != "u32" && value != "u64")
      {
        throw UsageError("--type takes u32 or u64, not '" + value + "'");
      }
      arguments.type = value;
    }
    else if (option == "--repeats")
    {
      arguments.repeats = parse_repeats(value);
    }
    else
    {
      arguments.engines = split(value);
    }
  }
  const std::vector<std::string> known = known_engines(arguments.pairs);
  if (arguments.engines.empty())
  {
    arguments.engines = known;
  }
  for (const std::string &engine : arguments.engines)
  {
    if (std::find(known.begin(), known.end(), engine) == known.end())
    {
      throw UsageError("no engine '" + engine + "': see --help");
    }
  }
  if (arguments.input.empty() || arguments.expected.empty() || arguments.type.empty()
      || arguments.repeats == 0)
  {
    throw UsageError("--input, --expected, --type and --repeats are needed: see --help");
  }
  return arguments;
}

std::vector<char> read(const std::string &name)
{
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(name, error);
  if (error)
  {
    throw UsageError(name + ": " + error.message());
  }
  std::vector<char> bytes(static_cast<std::size_t>(size));
  std::ifstream file(name, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file)
  {
    throw UsageError(name + ": cannot be read");
  }
  return bytes;
}

int run(const std::vector<std::string> &words)
{
  if (std::find(words.begin(), words.end(), "--help") != words.end()
      || std::find(words.begin(), words.end(), "-h") != words.end())
  {
    std::cout << usage;
    return 0;
  }
  const Arguments arguments = parse(words);
  const std::size_t width   = arguments.type == "u32" ? 4 : 8;

  const std::vector<char> input    = read(arguments.input);
  const std::vector<char> expected = read(arguments.expected);
  if (input.size() != expected.size())
  {
    throw UsageError("--input and --expected differ in length");
  }
  if (input.size() % width != 0)
  {
    throw UsageError(arguments.input + ": no whole number of keys");
  }

  int devices               = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted != cudaSuccess || devices == 0)
  {
    std::cerr << "cub: no CUDA device: "
              << (counted == cudaSuccess ? "none there" : cudaGetErrorString(counted))
              << " (CUDA error " << static_cast<int>(counted) << ")\n";
    return 3;
  }
  cudaDeviceProp properties{};
  int runtime = 0;
  try
  {
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  }
  catch (const std::exception &error)
  {
    std::cerr << "cub: no CUDA device: " << error.what() << '\n';
    return 3;
  }

  const std::vector<Outcome> outcomes = width == 4
                                        ? measure<std::uint32_t>(arguments, input, expected)
                                        : measure<std::uint64_t>(arguments, input, expected);

  const std::string version = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "."
                            + std::to_string(CUB_MINOR_VERSION) + "."
                            + std::to_string(CUB_SUBMINOR_VERSION) + ", CUDA "
                            + std::to_string(runtime / 1000) + "."
                            + std::to_string(runtime % 1000 / 10);
  std::string json = "{\"peer\":\"cub\",\"version\":" + quoted(version)
                   + ",\"device\":" + quoted(properties.name)
                   + ",\"clock\":\"GPU timestamps\",\"results\":[";
  for (std::size_t i = 0; i < outcomes.size(); ++i)
  {
    json += i == 0 ? "" : ",";
    json += json_of(outcomes[i], arguments.type, input.size() / width);
  }
  std::cout << json << "]}" << std::endl;
  return 0;
}

} // namespace

int main(int count, char **words)
{
  try
  {
    return run(std::vector<std::string>(words + 1, words + count));
  }
  catch (const std::exception &error)
  {
    std::cerr << "cub: " << error.what() << '\n';
    return 2;
  }
}
