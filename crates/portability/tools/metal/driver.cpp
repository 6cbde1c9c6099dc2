// Runs a kernel, compiled from Metal's text, on a dispatch read from a file: a thread a lane.
//
// All lanes of all workgroups are threads of their own, and nothing but a barrier orders two of
// them. Workgroups run one after the other, but a thread sanitizer does not know: it sees the races
// between two workgroups as well as those within one.
//
//     driver BEFORE AFTER
//
// Words, each of 32 bits. BEFORE: workgroups in x and y, the number of buffers, and the words of
// each behind their number, in the order of their slots. AFTER: the words of each buffer.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <vector>

#include "lane.h"

namespace {

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "driver: %s\n", what);
    // Not `exit`: other lanes are still running.
    std::_Exit(3);
}

std::size_t lanes() { return std::size_t{LANES_XYZ[0]} * LANES_XYZ[1] * LANES_XYZ[2]; }

struct Memory {
    std::unique_ptr<char[]> bytes;
    explicit Memory(std::size_t size) : bytes(new char[size]) {
        // Workgroup memory holds anything at first, and zeros would be kind.
        std::memset(bytes.get(), 0xa5, size);
    }
};

class Workgroup {
  public:
    std::vector<void *> memory;

    Workgroup() {
        for (metal::uint i = 0; i < THREADGROUP_VARIABLES; i++) {
            // Each an allocation of its own, so that the address sanitizer sees its bounds.
            variables.emplace_back(THREADGROUP_BYTES[i]);
            memory.push_back(variables.back().bytes.get());
        }
    }

    // The barrier that is the lane's `round`th, from 0.
    void barrier(std::size_t round, bool orders) {
        // Two in turns. A lane that is late to go on from one must not meet those that have come to
        // the next already: that would order it behind what they did in between, and hide a race.
        const auto which = round % 2;
        if (orders) {
            order[which].fetch_add(1, std::memory_order_release);
        }
        // The CPU keeps to these, whichever memory is watched; a thread sanitizer passes them over.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const auto goal = (round / 2 + 1) * lanes();
        counts.fetch_add(ONE_COME << which * COUNT, std::memory_order_relaxed);
        for (;;) {
            const auto now = counts.load(std::memory_order_relaxed);
            if ((now >> which * COUNT & ((1u << COUNT) - 1)) >= goal) {
                break;
            }
            if (now >= ONE_LEFT) {
                fail("a barrier that not all lanes of the workgroup reach");
            }
            sched_yield();
        }
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (orders) {
            order[which].load(std::memory_order_acquire);
        }
    }

    void leave() { counts.fetch_add(ONE_LEFT, std::memory_order_relaxed); }
    bool is_empty() const { return counts.load(std::memory_order_relaxed) >= ONE_LEFT * lanes(); }

  private:
    static constexpr int COUNT = 24;
    static constexpr std::uint64_t ONE_COME = 1, ONE_LEFT = std::uint64_t{1} << 2 * COUNT;

    std::vector<Memory> variables;
    // Lanes that came to either barrier, ever, and lanes that came to their end. One word, so that
    // what is read of it was true at one time; relaxed, because it makes lanes wait for each other
    // but orders nothing that they did.
    std::atomic<std::uint64_t> counts{0};
    // What makes a barrier order memory, as a thread sanitizer sees it.
    std::atomic<std::size_t> order[2]{};
};

struct Thread {
    pthread_t handle;
    Workgroup *workgroup;
    Lane lane;
    void *const *buffers;
};

// The memory whose races are looked for: no barrier for the other kind counts.
#if defined(UNWATCHED_DEVICE)
constexpr int WATCHED = int(metal::mem_flags::mem_threadgroup);
#elif defined(UNWATCHED_THREADGROUP)
constexpr int WATCHED = int(metal::mem_flags::mem_device);
#else
constexpr int WATCHED = ~0;
#endif

thread_local Workgroup *current;
thread_local std::size_t rounds;

void *begin(void *argument) {
    const auto &self = *static_cast<Thread *>(argument);
    current = self.workgroup;
    run_lane(self.lane, self.buffers, self.workgroup->memory.data());
    self.workgroup->leave();
    return nullptr;
}

Lane make_lane(metal::uint3 group, metal::uint3 groups, metal::uint index) {
    const metal::uint3 size{LANES_XYZ[0], LANES_XYZ[1], LANES_XYZ[2]};
    const metal::uint3 here{index % size.x, index / size.x % size.y, index / (size.x * size.y)};
    return {group, groups, groups * size, group * size + here, here, size, index};
}

std::vector<std::uint32_t> read_words(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (!file) {
        fail("no file to read");
    }
    std::vector<std::uint32_t> words;
    std::uint32_t word;
    while (std::fread(&word, sizeof word, 1, file) == 1) {
        words.push_back(word);
    }
    std::fclose(file);
    return words;
}

} // namespace

void metal::threadgroup_barrier(mem_flags flags) {
    current->barrier(rounds++, int(flags) & WATCHED);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fail("two files are needed");
    }
    const auto words = read_words(argv[1]);
    std::size_t at = 0;
    const auto next = [&] { return words.at(at++); };
    const metal::uint x = next(), y = next(), count = next();
    const metal::uint3 groups{x, y, 1};
    // Exactly as large as they are, for the address sanitizer.
    std::vector<std::unique_ptr<std::uint32_t[]>> contents;
    std::vector<void *> buffers;
    std::vector<std::size_t> lengths;
    std::vector<metal::uint> bytes;
    for (metal::uint i = 0; i < count; i++) {
        lengths.push_back(next());
        contents.emplace_back(new std::uint32_t[lengths[i]]);
        for (std::size_t word = 0; word < lengths[i]; word++) {
            contents[i][word] = next();
        }
        buffers.push_back(contents[i].get());
        bytes.push_back(lengths[i] * sizeof(std::uint32_t));
    }
    std::vector<metal::uint> sizes;
    for (metal::uint i = 0; i < ARRAYS; i++) {
        sizes.push_back(bytes.at(ARRAY_SLOTS[i]));
    }
    buffers.push_back(sizes.data());

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    std::deque<Workgroup> workgroups;
    std::deque<Thread> threads;
    for (metal::uint number = 0; number < x * y; number++) {
        const metal::uint3 group{number % x, number / x, 0};
        workgroups.emplace_back();
        for (metal::uint index = 0; index < lanes(); index++) {
            threads.push_back(
                {{}, &workgroups.back(), make_lane(group, groups, index), buffers.data()});
            auto &last = threads.back();
            if (pthread_create(&last.handle, &attributes, begin, &last) != 0) {
                fail("no thread for a lane");
            }
        }
        while (!workgroups.back().is_empty()) {
            sched_yield();
        }
    }
    // Only now: to join a thread is to be ordered behind it, and so would be those made after it.
    for (auto &one : threads) {
        pthread_join(one.handle, nullptr);
    }

    std::FILE *file = std::fopen(argv[2], "wb");
    if (!file) {
        fail("no file to write");
    }
    for (metal::uint i = 0; i < count; i++) {
        std::fwrite(contents[i].get(), sizeof(std::uint32_t), lengths[i], file);
    }
    if (std::fclose(file) != 0) {
        fail("the result was not written");
    }
}
