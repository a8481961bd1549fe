#define _GNU_SOURCE
#include "Renaming.h"

#include <fcntl.h>
#include <stdio.h>

int vault_rename_exclusively(int folder, const char *source, const char *destination) {
  return renameat2(folder, source, folder, destination, RENAME_NOREPLACE);
}

int vault_rename_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}
