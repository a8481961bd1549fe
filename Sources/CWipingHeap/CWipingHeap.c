#define _GNU_SOURCE
#include "CWipingHeap.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEAP_OF_A_SANITIZER 1
#endif
#endif

#ifdef HEAP_OF_A_SANITIZER

void wipeFreedMemory(void) {}

#else

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The C library's own, under the names that it has for whoever stands before them. A setting of its allocator (M_PERTURB) wouldn't do: it
   leaves the first bytes of small blocks, and what a block that is moved has left behind. */
void __libc_free(void *block);
void *__libc_realloc(void *block, size_t size);

static atomic_bool wipes;

void wipeFreedMemory(void) { atomic_store(&wipes, 1); }

/* Defined in the program itself, they stand before those of the C library for all libraries, too. */
void free(void *block) {
  if (block && atomic_load_explicit(&wipes, memory_order_relaxed)) explicit_bzero(block, malloc_usable_size(block));
  __libc_free(block);
}

void *realloc(void *block, size_t size) {
  if (!block || !atomic_load_explicit(&wipes, memory_order_relaxed)) return __libc_realloc(block, size);
  if (size == 0) {
    free(block);
    return NULL;
  }
  size_t room = malloc_usable_size(block);
  /* What is behind the end is wiped with the block. */
  if (size <= room && size >= room / 2) return block;
  void *moved = malloc(size);
  if (!moved) return NULL;
  memcpy(moved, block, size < room ? size : room);
  free(block);
  return moved;
}

#endif
