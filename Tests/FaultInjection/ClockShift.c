// For RTLD_NEXT.
#define _GNU_SOURCE
#include "FaultInjection.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// Seconds that the wall clock is ahead, in a file that a test writes to while the program runs.
static volatile const int64_t *ahead;

__attribute__((constructor)) static void map_clock(void) {
  const char *path = getenv("VAULT_FAULT_CLOCK");
  if (!path) return;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) abort();
  void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) abort();
  close(file);
  ahead = page;
}

typedef int (*clock_function)(clockid_t, struct timespec *);

int clock_gettime(clockid_t clock, struct timespec *time) {
  // All threads find the same.
  static _Atomic(clock_function) found;
  clock_function real = atomic_load_explicit(&found, memory_order_relaxed);
  if (!real) {
    real = (clock_function)dlsym(RTLD_NEXT, "clock_gettime");
    if (!real) abort();
    atomic_store_explicit(&found, real, memory_order_relaxed);
  }
  int status = real(clock, time);
  if (!status && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *ahead;
  return status;
}
