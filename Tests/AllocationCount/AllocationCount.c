#define _GNU_SOURCE
#include "AllocationCount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// In a file that a test reads while the program runs, or nowhere.
static _Atomic int64_t nowhere;
static _Atomic int64_t *count = &nowhere;

__attribute__((constructor)) static void map_count(void) {
  const char *path = getenv("VAULT_FAULT_COUNTS");
  if (!path) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) abort();
  void *page = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) abort();
  close(file);
  count = page;
}

// glibc's own names for what is replaced here.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define COUNTED (atomic_fetch_add_explicit(count, 1, memory_order_relaxed))

void *malloc(size_t size) { return COUNTED, __libc_malloc(size); }
void *calloc(size_t number, size_t size) { return COUNTED, __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { return COUNTED, __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return COUNTED, __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **result, size_t alignment, size_t size) {
  int before = errno;
  void *found = memalign(alignment, size);
  errno = before;
  if (!found) return ENOMEM;
  *result = found;
  return 0;
}
