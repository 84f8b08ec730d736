// The arena owns all memory above the linker's __heap_base. It must not meet
// malloc, which would claim the same ground; nothing here links malloc.
#include "arena.h"

#include <stdint.h>
#include <string.h>

enum { PAGE = 65536, ALIGNMENT = 16 };

extern char __heap_base;

static uintptr_t next;

void arena_reset(void) {
  next = (uintptr_t)&__heap_base;
}

void *arena_alloc(size_t bytes) {
  uintptr_t start = (next + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
  size_t limit = __builtin_wasm_memory_size(0) * PAGE;
  if (bytes > UINT32_MAX - PAGE - start) __builtin_trap();
  if (start + bytes > limit) {
    size_t pages = (start + bytes - limit + PAGE - 1) / PAGE;
    if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) __builtin_trap();
  }
  next = start + bytes;
  return memset((void *)start, 0, bytes);
}
