#ifndef VAULT_PRIVILEGES_H
#define VAULT_PRIVILEGES_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

// The machine as a filter of system calls sees it.
#if defined(__x86_64__)
static const uint32_t vault_audit_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static const uint32_t vault_audit_architecture = AUDIT_ARCH_AARCH64;
#else
// Matches nothing: no filter is installed on other machines.
static const uint32_t vault_audit_architecture = 0;
#endif

// All of these return 0 on success, or -1 and set errno.

// Tells the kernel that this process and its children never gain privileges by exec.
int vault_forbid_new_privileges(void);

// Puts a filter of system calls into force for good. It can't be taken off, only narrowed.
int vault_filter_system_calls(const struct sock_filter *instructions, unsigned short count);

// Takes all capabilities from this process.
int vault_drop_capabilities(void);

// Moves this process into a network of its own, which has nothing in it: directly where it may, else as the root of a user
// name space of its own.
int vault_leave_network(void);

// Closes all descriptors above standard error.
int vault_close_others(void);

// The version of Landlock that the kernel speaks, or -1.
int vault_landlock_version(void);

// Forbids, as far as that version of Landlock goes, everything that opens or changes files, all TCP, and reaching other
// processes. What is open stays open.
int vault_landlock_everything(int version);

// The same, except for reading what lies at or below these paths, and for connecting by TCP. Paths that aren't there are
// passed over.
int vault_landlock_but_reading(int version, const char *const *paths, size_t count);

// Has the kernel kill this process when the thread ends that started it. If that has ended before, nothing happens.
int vault_end_with_parent(void);

// Keeps this process out of core dumps and away from debuggers of the same user.
int vault_forbid_dumping(void);

#endif
