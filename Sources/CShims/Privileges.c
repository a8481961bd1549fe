#define _GNU_SOURCE
#include "Privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

enum { add_rule = 445, beneath_path = 1, read_file = 4, read_folder = 8, bind_tcp = 1, connect_tcp = 2 };

// What a ruleset handles and no rule allows is forbidden. Each version added bits at the end.
static int make_ruleset(int version, uint64_t network) {
  struct {
    uint64_t files, network, scopes;
  } handled = {0, 0, 0};
  size_t size = sizeof handled.files;
  int file_rights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  handled.files = (UINT64_C(1) << file_rights) - 1;
  if (version >= 4) {
    handled.network = network;
    size += sizeof handled.network;
  }
  if (version >= 6) {
    handled.scopes = 3;  // Abstract sockets of, and signals to, processes outside.
    size += sizeof handled.scopes;
  }
  return (int)syscall(create_ruleset, &handled, size, 0U);
}

static int restrict_to(int ruleset) {
  int result = (int)syscall(restrict_self, ruleset, 0U);
  int reason = errno;
  close(ruleset);
  errno = reason;
  return result;
}

int vault_landlock_everything(int version) {
  int ruleset = make_ruleset(version, bind_tcp | connect_tcp);
  return ruleset < 0 ? -1 : restrict_to(ruleset);
}

int vault_landlock_but_reading(int version, const char *const *paths, size_t count) {
  int ruleset = make_ruleset(version, bind_tcp);
  if (ruleset < 0) return -1;
  for (size_t place = 0; place < count; place++) {
    struct {
      uint64_t allowed;
      int32_t parent;
    } __attribute__((packed)) rule = {read_file, open(paths[place], O_PATH | O_CLOEXEC)};
    if (rule.parent < 0) continue;
    struct stat status;
    if (fstat(rule.parent, &status) == 0 && S_ISDIR(status.st_mode)) rule.allowed |= read_folder;
    // What can't be named in a rule can't be read.
    (void)syscall(add_rule, ruleset, beneath_path, &rule, 0U);
    close(rule.parent);
  }
  return restrict_to(ruleset);
}

int vault_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

int vault_forbid_dumping(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
