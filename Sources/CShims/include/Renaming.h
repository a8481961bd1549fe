#ifndef VAULT_RENAMING_H
#define VAULT_RENAMING_H

// Renames within the open folder, unless the new name is taken: EEXIST. Returns 0, or -1 and sets errno, to EINVAL or
// ENOSYS where this can't be done in one step.
int vault_rename_exclusively(int folder, const char *source, const char *destination);

// Lets two names change places in one step. Returns 0, or -1 and sets errno, to EINVAL or ENOSYS where the file system can't.
int vault_rename_exchange(const char *one, const char *other);

#endif
