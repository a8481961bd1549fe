#include "CVersion.h"

#ifndef VAULT_COMMIT
#define VAULT_COMMIT "unknown"
#endif

const char *cversion_commit(void) { return VAULT_COMMIT; }
