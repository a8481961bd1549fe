// What Swift can't do by itself: call C functions with a variable number of arguments, and read macros that are more than a
// number.
#ifndef VAULT_CSHIMS_H
#define VAULT_CSHIMS_H

#include "Camera.h"
#include "Privileges.h"

#endif
