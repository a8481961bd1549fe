#ifndef VAULT_FILESYSTEMS_H
#define VAULT_FILESYSTEMS_H

// 1 if the file system at a path keeps its files in memory (tmpfs, ramfs), 0 if not or if that can't be said.
int vault_lies_in_memory(const char *path);

#endif
