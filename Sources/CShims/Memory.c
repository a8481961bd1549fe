#include "Memory.h"

#include <malloc.h>
#include <sys/resource.h>

void vault_spare_address_space(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}
