// Runs a kernel, compiled from Metal's text, on a dispatch read from a file.
//
// A lane is a fiber: it has a stack of its own, and runs until it comes to a barrier or to its end.
// One thread runs them all, one after the other: thousands of threads wait for each other most
// of the time, and no system has that many stacks for them. Workgroups, too, run one after the
// other. But a thread sanitizer does not know: it takes each lane for a thread, and nothing but a
// barrier orders two of them. It sees the races between two workgroups as well as those within one.
//
//     driver BEFORE AFTER
//
// Words, each of 32 bits. BEFORE: workgroups in x and y, the number of buffers, and the words of
// each behind their number, in the order of their slots. AFTER: the words of each buffer.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#include "lane.h"

#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

// What lanes do here is not what they do on Metal, and no sanitizer is to see it: neither accesses,
// nor a call by one fiber that another returns from.
#define UNWATCHED __attribute__((disable_sanitizer_instrumentation))

namespace {

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "driver: %s\n", what);
    std::exit(3);
}

metal::uint lanes() { return LANES_XYZ[0] * LANES_XYZ[1] * LANES_XYZ[2]; }

struct Memory {
    std::unique_ptr<char[]> bytes;
    explicit Memory(std::size_t size) : bytes(new char[size]) {
        // Workgroup memory holds anything at first, and zeros would be kind.
        std::memset(bytes.get(), 0xa5, size);
    }
};

// The stacks of a workgroup's lanes. Each workgroup has its memory mapped anew: else a thread
// sanitizer would find that two lanes use the same stack.
class Stacks {
  public:
    static constexpr std::size_t BYTES = 256 << 10;

    Stacks() : size(lanes() * (GUARD + BYTES)) {
        const auto flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (mapped == MAP_FAILED) {
            fail("no memory for the stacks of lanes");
        }
        first = static_cast<char *>(mapped);
        for (metal::uint i = 0; i < lanes(); i++) {
            mprotect((*this)[i] - GUARD, GUARD, PROT_NONE);
        }
    }
    Stacks(const Stacks &) = delete;
    ~Stacks() { munmap(first, size); }
    char *operator[](metal::uint i) const { return first + i * (GUARD + BYTES) + GUARD; }

  private:
    static constexpr std::size_t GUARD = 16 << 10;

    char *first;
    std::size_t size;
};

// Who a thread sanitizer takes a lane for: another one for each lane of each workgroup.
class Identity {
  public:
#if __has_feature(thread_sanitizer)
    // Of whoever runs now.
    static Identity own() { return Identity{__tsan_get_current_fiber()}; }

    // Ordered behind all that has been done by whoever runs now.
    static Identity another() {
        static std::deque<void *> kept;
        if (kept.size() == KEPT) {
            __tsan_destroy_fiber(kept.front());
            kept.pop_front();
        }
        kept.push_back(__tsan_create_fiber(0));
        return Identity{kept.back()};
    }

    // Orders nothing.
    UNWATCHED void assume() const {
        __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync);
    }

  private:
    // It reports no race with one of whom it has not kept what they did. Of those that have ended
    // it would keep too few. There may be 8192 at a time, but each takes memory.
    static constexpr std::size_t KEPT = 4096;

    void *fiber;
    explicit Identity(void *fiber) : fiber(fiber) {}
#else
    static Identity own() { return {}; }
    static Identity another() { return {}; }
    void assume() const {}
#endif
};

// Which memory's barriers order anything: the one whose races are looked for.
#if defined(UNWATCHED_DEVICE)
constexpr int WATCHED = int(metal::mem_flags::mem_threadgroup);
#elif defined(UNWATCHED_THREADGROUP)
constexpr int WATCHED = int(metal::mem_flags::mem_device);
#else
constexpr int WATCHED = ~0;
#endif

// A barrier's order, as a thread sanitizer sees it: who comes to it releases, who goes on acquires.
struct Order {
    std::atomic<metal::uint> word{0};
    void release() { word.fetch_add(1, std::memory_order_release); }
    void acquire() { word.load(std::memory_order_acquire); }
};

class Workgroup;

struct Fiber {
    Workgroup &workgroup;
    Lane lane;
    void *const *buffers;
    ucontext_t context{};
    Identity identity = Identity::own();
    Order own{};
    std::size_t barriers = 0;
    bool has_ended = false;
};

// What has the lanes run, the lane that it has run, and what all lanes come to at their ends.
ucontext_t main_context;
const Identity main_identity = Identity::own();
Fiber *current;
Order ends;

// Runs a lane to its next barrier, or to its end.
UNWATCHED void go_on(Fiber &fiber) {
    current = &fiber;
    fiber.identity.assume();
    swapcontext(&main_context, &fiber.context);
}

// Has that done: what `go_on` returns from.
UNWATCHED void stop(Fiber &self) {
    main_identity.assume();
    swapcontext(&self.context, &main_context);
}

Lane make_lane(metal::uint3 group, metal::uint3 groups, metal::uint index) {
    const metal::uint3 size{LANES_XYZ[0], LANES_XYZ[1], LANES_XYZ[2]};
    const metal::uint3 here{index % size.x, index / size.x % size.y, index / (size.x * size.y)};
    return {group, groups, groups * size, group * size + here, here, size, index};
}

class Workgroup {
  public:
    Workgroup() {
        for (metal::uint i = 0; i < THREADGROUP_VARIABLES; i++) {
            // Each an allocation of its own, so that the address sanitizer sees its bounds.
            variables.emplace_back(THREADGROUP_BYTES[i]);
            memory.push_back(variables.back().bytes.get());
        }
    }

    // Runs all lanes to their ends.
    void run(metal::uint number, metal::uint3 groups, void *const *buffers) {
        const metal::uint3 group{number % groups.x, number / groups.x, 0};
        // In an order that is another in each workgroup: no result hangs on one. And a thread
        // sanitizer, which tells 256 lanes apart, takes others for one another in each.
        std::vector<metal::uint> turns(lanes());
        std::iota(turns.begin(), turns.end(), 0);
        std::shuffle(turns.begin(), turns.end(), std::minstd_rand(number + 1));
        const Stacks stacks;
        for (const auto index : turns) {
            prepare(fibers.emplace_back(*this, make_lane(group, groups, index), buffers),
                    stacks[index]);
        }
        std::size_t ended = 0;
        while (ended < lanes()) {
            for (auto &fiber : fibers) {
                go_on(fiber);
            }
            ended = std::count_if(fibers.begin(), fibers.end(), has_ended);
            if (ended != 0 && ended != lanes()) {
                fail("a barrier that not all lanes of the workgroup reach");
            }
        }
    }

    UNWATCHED void barrier(Fiber &self, bool orders) {
        auto &order = barriers[self.barriers++ % 2];
        if (orders) {
            order.release();
        }
        stop(self);
        if (orders) {
            order.acquire();
            // A thread sanitizer has places for 256. Where there are more lanes, this one has lost
            // its own while others ran, and got another; but not before it releases something is
            // that noted, and a race with what it does is only reported if it is.
            self.own.release();
        }
    }

  private:
    UNWATCHED static bool has_ended(const Fiber &fiber) { return fiber.has_ended; }

    UNWATCHED static void begin() {
        auto &self = *current;
        run_lane(self.lane, self.buffers, self.workgroup.memory.data());
        ends.release();
        self.has_ended = true;
        stop(self);
    }

    static void prepare(Fiber &fiber, char *stack) {
        auto &context = fiber.context;
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = Stacks::BYTES;
        makecontext(&context, begin, 0);
        // Or the address sanitizer would, with each change, forget what it knows of the stack.
        context.uc_stack.ss_size = 0;
        fiber.identity = Identity::another();
    }

    std::vector<Memory> variables;
    std::vector<void *> memory;
    std::deque<Fiber> fibers;
    // Two in turns. A lane that goes on from one must not meet those that have come to the next
    // already: that would order it behind what they did in between, and hide a race.
    Order barriers[2];
};

std::vector<std::uint32_t> read_words(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (!file) {
        fail("no file to read");
    }
    std::vector<std::uint32_t> words;
    std::uint32_t block[4096];
    while (const auto count = std::fread(block, sizeof *block, std::size(block), file)) {
        words.insert(words.end(), block, block + count);
    }
    std::fclose(file);
    return words;
}

} // namespace

UNWATCHED void metal::threadgroup_barrier(mem_flags flags) {
    current->workgroup.barrier(*current, int(flags) & WATCHED);
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

    // All kept to the end: to free what lanes have used is to be in a race with them.
    std::deque<Workgroup> workgroups(x * y);
    for (metal::uint number = 0; number < x * y; number++) {
        workgroups[number].run(number, groups, buffers.data());
    }
    // Only now: lanes that are made after this are ordered behind all that have ended.
    ends.acquire();

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
