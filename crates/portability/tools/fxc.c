//! Runs FXC, Direct3D's own compiler of HLSL, on Windows or Wine; the gate in fxc.rs feeds it.
//!
//! Loads the DLL named by the environment's FXC. For each text on standard input, its length (four
//! bytes) before it, gives a result (four bytes, negative for an error), the length of what the
//! compiler said (four bytes), and that. Without a C library, so that Clang alone can build it.

#include <d3dcommon.h>
#include <windows.h>

typedef HRESULT(WINAPI *Compile)(const void *text, SIZE_T length, const char *name,
                                 const void *defines, void *include, const char *entry,
                                 const char *target, UINT flags, UINT effect_flags,
                                 ID3DBlob **code, ID3DBlob **said);

enum { ENABLE_STRICTNESS = 1 << 11, NO_COMPILER = 2, NO_READER = 3 };

static BOOL get(void *to, DWORD length) {
    char *at = to;
    DWORD got;
    while (length > 0) {
        if (!ReadFile(GetStdHandle(STD_INPUT_HANDLE), at, length, &got, NULL) || got == 0) {
            return FALSE;
        }
        at += got;
        length -= got;
    }
    return TRUE;
}

static void put(const void *from, DWORD length) {
    const char *at = from;
    DWORD written;
    while (length > 0) {
        if (!WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), at, length, &written, NULL)) {
            ExitProcess(NO_READER);
        }
        at += written;
        length -= written;
    }
}

void start(void) {
    static char path[4096];
    GetEnvironmentVariableA("FXC", path, sizeof path);
    HMODULE fxc = LoadLibraryA(path);
    Compile compile = fxc ? (Compile)(void *)GetProcAddress(fxc, "D3DCompile") : NULL;
    if (!compile) {
        ExitProcess(NO_COMPILER);
    }
    DWORD length;
    while (get(&length, sizeof length)) {
        char *text = HeapAlloc(GetProcessHeap(), HEAP_GENERATE_EXCEPTIONS, length);
        if (!get(text, length)) {
            break;
        }
        ID3DBlob *code = NULL, *said = NULL;
        LONG result = compile(text, length, "hlsl", NULL, NULL, "main", "cs_5_1",
                              ENABLE_STRICTNESS, 0, &code, &said);
        DWORD size = said ? said->lpVtbl->GetBufferSize(said) : 0;
        put(&result, sizeof result);
        put(&size, sizeof size);
        if (said) {
            put(said->lpVtbl->GetBufferPointer(said), size);
            said->lpVtbl->Release(said);
        }
        if (code) {
            code->lpVtbl->Release(code);
        }
        HeapFree(GetProcessHeap(), 0, text);
    }
    ExitProcess(0);
}
