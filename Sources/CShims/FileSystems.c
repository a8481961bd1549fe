#include "FileSystems.h"

#include <linux/magic.h>
#include <sys/vfs.h>

int vault_lies_in_memory(const char *path) {
  struct statfs facts;
  if (statfs(path, &facts) != 0) return 0;
  return facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
}
