//! The text of `--help` below the options.

/// For `-h`.
pub(crate) const SHORT: &str = "\
Exit codes: 0 clean, 1 failures found, 2 wrong usage or a shader that cannot be run, 130 interrupted

Examples:
  wgsl-audit shader.wgsl
  wgsl-audit reduce.wgsl --workgroups 4 --buffer 0=random:2^16 --max-degree 1

--help explains what is found, buffers and JSON.";

/// For `--help`.
pub(crate) const LONG: &str = "\
What is found:
  race      two lanes touch the same bytes, one of them writes, and no barrier stands between
  bounds    an index past the end of an array, or an address past the end of a buffer
  barrier   a barrier that not all lanes of a workgroup reach together
  loop      a loop of more iterations than --max-iterations
  conflict  lanes of a warp touch different words of one bank of workgroup memory: the number of
            words is the degree, and they take as many cycles; 1 is free of conflict. It is a note,
            and a failure above --max-degree
  unreached accesses to workgroup memory or storage that were never executed. It is a warning, one
            for each kind of memory, since another input may reach them. With --max-degree it is a
            failure if the shader accesses workgroup memory and no such access was executed: the
            limit would hold whatever the shader does. Not reported if 'loop' stopped the run
Workgroup memory that is read before it is written is a warning. Notes tell of accesses to storage
that touch more than twice the 32-byte sectors that would do, and of more workgroup memory than
WebGPU guarantees (16,384 bytes).

Buffers:
Name a buffer by its binding (0), by group and binding (1.2) or by its variable (size). Contents are
  0=random:4096    so many words of random bits (SplitMix64, --seed)
  0=zero:4096      zeros
  0=iota:2^12      0, 1, 2 and so on
  0=words:1,-2,0x10,1.5
                   these words: u32, i32 if negative, f32 with a point
  0=file:PATH      a file's bytes, a multiple of 4
By default uniforms are zero; storage buffers are random, as large as their type, and 4096 words
where it ends in a runtime-sized array. Give sizes and indices that make sense: random ones are out
of bounds, and with a size of zero a shader does nothing: see 'unreached'.

What the columns mean:
  degree     the most words of a bank at once. An access of 8 bytes a lane is served in two halves
             of the warp and one of 16 bytes in four quarters, as NVIDIA's hardware does it; 'by
             word' is the degree if each word were fetched for the whole warp, shown if it differs.
             A struct is stored member by member: two u32 are two accesses of 4 bytes
  oblivious  whether no value of a storage buffer decides where workgroup memory is accessed. Then
             the counts hold for all data, and otherwise for this input only
  / least    cycles or sectors, against the fewest possible

Limits: one input a run; textures, samplers, ray queries and binding arrays cannot be run.

JSON (--json) is one object:
  version, clean (no failure), failures (lines of text)
  config           warp, banks, max_iterations, max_lane_instructions (null: no limit)
  seconds, lane_instructions, lane_instructions_per_second
  entry, workgroup_size, workgroup_bytes, dispatched (workgroups in x, y and z)
  buffers          group, binding, name, space, words, contents, given (by --buffer)
  kernels          an array of one object:
    file, kernel, phase (null)
    dispatches, workgroups, lane_instructions
    workgroup      accesses, conflict_free, max_degree, max_degree_by_word, oblivious, cycles,
                   min_cycles
    storage        accesses, sectors, min_sectors
    faults         race, bounds, barrier, loop, uninitialised, order: how often, lane by lane
    sites          each location that accesses workgroup memory or storage: line, column (in bytes,
                   from 1), length, space, variable, kind, bytes (a lane), oblivious, accesses
                   (0: never executed, or out of bounds in all lanes), lanes (of all together); of
                   workgroup memory: banks and banks_by_word (conflict_free, max_degree, cycles,
                   min_cycles), bank_degrees (for each bank the most words at once); of storage:
                   sectors, min_sectors; worst (lane and byte address of the worst access)
    findings       fault, line, column, length, space, variable, other (line, column, length of
                   the other access of a race), count, example

SARIF (--sarif) has the same notes for code-scanning services, with the levels error (failures),
warning and note. Paths in it are as given: run the command from the root of the repository.

Exit codes:
  0    clean: no failure, whatever the warnings and notes
  1    failures were found
  2    wrong usage, a shader that cannot be read or run, or output that cannot be written
  130  interrupted (as shells report it)

Examples:
  wgsl-audit shader.wgsl
  wgsl-audit reduce.wgsl --entry main --workgroups 4 --buffer 0=random:2^16 --max-degree 1
  wgsl-audit scan.wgsl --buffer 0=iota:1000 --buffer 1=words:1000 --override BLOCK=256
  wgsl-audit transpose.wgsl --workgroups 4x4 --buffer size=words:64,64 --heatmap banks.svg
  wgsl-audit shader.wgsl --json | jq '.kernels[0].workgroup.max_degree'
  wgsl-audit shaders/sort.wgsl --sarif sort.sarif";
