#define _GNU_SOURCE
#include "Renaming.h"

#include <stdio.h>

int vault_rename_exclusively(int folder, const char *source, const char *destination) {
  return renameat2(folder, source, folder, destination, RENAME_NOREPLACE);
}
