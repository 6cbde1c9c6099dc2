// What the generated call of a kernel and the driver that makes it know of each other.

#pragma once

#include "metal_stdlib"

// A lane's values of Metal's attributes, each under the attribute's own name.
struct Lane {
    metal::uint3 threadgroup_position_in_grid;
    metal::uint3 threadgroups_per_grid;
    metal::uint3 threads_per_grid;
    metal::uint3 thread_position_in_grid;
    metal::uint3 thread_position_in_threadgroup;
    metal::uint3 dispatch_threads_per_threadgroup;
    metal::uint thread_index_in_threadgroup;
};

// An argument that is passed as a reference, to whatever type the kernel's text gives it.
struct Place {
    void *address;
    // Not a static_cast: that does not lead into another address space.
    template <typename T> operator T &() const { return *(T *)address; }
};

// The kernel, and what its text does not say.
extern const metal::uint LANES_XYZ[3];
extern const metal::uint THREADGROUP_VARIABLES;
extern const metal::uint THREADGROUP_BYTES[];
// The slots of buffers with arrays of any length: their bytes are passed behind the buffers.
extern const metal::uint ARRAYS;
extern const metal::uint ARRAY_SLOTS[];
void run_lane(const Lane &lane, void *const *buffers, void *const *threadgroup_memory);
