#pragma once

#include <stddef.h>

/// Zeroed memory that lives until the next arena_reset. Traps when the host
/// gives no more, so it never returns NULL.
void *arena_alloc(size_t bytes);

/// Takes back everything at once. Each export starts with it.
void arena_reset(void);
