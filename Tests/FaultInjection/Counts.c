#define _GNU_SOURCE
#include "FaultInjection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "Counts.h"

// In a file that a test reads while the program runs, or nowhere.
static _Atomic int64_t nowhere[3];
static _Atomic int64_t *counts = nowhere;  // the first is AllocationCount's

__attribute__((constructor)) static void map_counts(void) {
  const char *path = getenv("VAULT_FAULT_COUNTS");
  if (!path) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) abort();
  void *page = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) abort();
  close(file);
  counts = page;
}

void count_sync(void) { atomic_fetch_add_explicit(&counts[1], 1, memory_order_relaxed); }
void count_written(int64_t bytes) {
  if (bytes > 0) atomic_fetch_add_explicit(&counts[2], bytes, memory_order_relaxed);
}
