// What Swift can't do by itself: call C functions with a variable number of arguments, or that the C library declares only
// with _GNU_SOURCE, and read macros that are more than a number.
#ifndef VAULT_CSHIMS_H
#define VAULT_CSHIMS_H

#include "Bluetooth.h"
#include "Camera.h"
#include "FileSystems.h"
#include "LocalMessages.h"
#include "Memory.h"
#include "Privileges.h"
#include "Renaming.h"

#endif
