// Of a program that is to leave nothing of what it has freed in its memory.
#ifndef VAULT_CWIPINGHEAP_H
#define VAULT_CWIPINGHEAP_H

/// From now on every block of the heap is overwritten with zeros when it is freed, whoever frees it. Does nothing in builds for the address and
/// the thread sanitizer, which have a heap of their own.
void wipeFreedMemory(void);

#endif
