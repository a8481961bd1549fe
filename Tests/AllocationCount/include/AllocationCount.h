// Preloaded into a program (LD_PRELOAD), this library counts allocations in the first of the integers of VAULT_FAULT_COUNTS: see
// FaultInjection.h. It is one of its own since nothing may link it: vault-server has a heap of its own, and so have sanitizers.
