#ifndef VAULT_MEMORY_H
#define VAULT_MEMORY_H

// Has all threads take memory from one arena, where the address space of this process is limited: each further arena reserves 64 MiB
// of it. To be called before there is another thread.
void vault_spare_address_space(void);

// A file without a name that lies in memory, closed on exec. Returns its descriptor, or -1 and sets errno.
int vault_memory_file(void);

#endif
