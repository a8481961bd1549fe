#define _GNU_SOURCE
#include "Memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

void vault_spare_address_space(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

int vault_memory_file(void) { return memfd_create("certificates", MFD_CLOEXEC); }
