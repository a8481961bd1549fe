#define _GNU_SOURCE
#include "Privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int vault_forbid_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int vault_filter_system_calls(const struct sock_filter *instructions, unsigned short count) {
  struct sock_fprog program = {.len = count, .filter = (struct sock_filter *)instructions};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int vault_drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
  memset(none, 0, sizeof none);
  return (int)syscall(SYS_capset, &header, none);
}

int vault_leave_network(void) {
  if (unshare(CLONE_NEWNET) == 0) return 0;
  return unshare(CLONE_NEWUSER | CLONE_NEWNET);
}

// The numbers below are the same on every machine. They stand here because headers may be older than the kernel.

int vault_close_others(void) { return (int)syscall(436, 3U, ~0U, 0U); }

enum { create_ruleset = 444, restrict_self = 446, ask_version = 1 };

int vault_landlock_version(void) { return (int)syscall(create_ruleset, (void *)0, (size_t)0, ask_version); }

int vault_landlock_everything(int version) {
  // What a ruleset handles and no rule allows is forbidden. Each version added bits at the end.
  struct {
    uint64_t files, network, scopes;
  } handled = {0, 0, 0};
  size_t size = sizeof handled.files;
  int file_rights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  handled.files = (UINT64_C(1) << file_rights) - 1;
  if (version >= 4) {
    handled.network = 3;  // Binding to, and connecting by, TCP.
    size += sizeof handled.network;
  }
  if (version >= 6) {
    handled.scopes = 3;  // Abstract sockets of, and signals to, processes outside.
    size += sizeof handled.scopes;
  }
  int ruleset = (int)syscall(create_ruleset, &handled, size, 0U);
  if (ruleset < 0) return -1;
  int result = (int)syscall(restrict_self, ruleset, 0U);
  int reason = errno;
  close(ruleset);
  errno = reason;
  return result;
}
