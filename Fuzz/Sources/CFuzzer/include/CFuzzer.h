#ifndef VAULT_CFUZZER_H
#define VAULT_CFUZZER_H

#include <stddef.h>
#include <stdint.h>

// libFuzzer's entry, which is called here from a main of our own so that one program holds all targets.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

#endif
