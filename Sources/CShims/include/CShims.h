// What Swift can't do by itself: call C functions with a variable number of arguments.
#ifndef VAULT_CSHIMS_H
#define VAULT_CSHIMS_H

// Tells the kernel that this process and its children never gain privileges by exec. Returns 0, or -1 and sets errno.
int vault_forbid_new_privileges(void);

#endif
