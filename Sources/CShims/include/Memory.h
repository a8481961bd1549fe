#ifndef VAULT_MEMORY_H
#define VAULT_MEMORY_H

// Has all threads take memory from one arena, where the address space of this process is limited: each further arena reserves 64 MiB
// of it. To be called before there is another thread.
void vault_spare_address_space(void);

#endif
