#include "CShims.h"

#include <sys/prctl.h>

int vault_forbid_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
