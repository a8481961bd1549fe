// Loaded into vault-net by tests: plays the part of a server that has taken it over. When it first reads from vault, the
// process is closed off already; now it tries what INTRUDER names, says how that ended, and leaves with 99.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long attempt(const char *what) {
  const char *file = getenv("INTRUDER_FILE");
  struct rlimit limits;
  int pair[2];
  if (!strcmp(what, "nothing")) return 0;
  if (!strcmp(what, "limits of another process")) return prlimit(getppid(), RLIMIT_NOFILE, NULL, &limits);
  if (!strcmp(what, "own limits")) return prlimit(0, RLIMIT_NOFILE, NULL, &limits);
  if (!strcmp(what, "other limits")) {
    prlimit(0, RLIMIT_NOFILE, NULL, &limits);
    return prlimit(0, RLIMIT_NOFILE, &limits, NULL);
  }
  if (!strcmp(what, "owner of a descriptor")) return fcntl(STDIN_FILENO, F_SETOWN, getppid());
  if (!strcmp(what, "signal of a descriptor")) return fcntl(STDIN_FILENO, F_SETSIG, SIGKILL);
  if (!strcmp(what, "pair of streams")) return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  if (!strcmp(what, "pair of datagrams")) return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
  if (!strcmp(what, "pair of packets")) return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
  if (!strcmp(what, "local socket")) return socket(AF_UNIX, SOCK_STREAM, 0);
  if (!strcmp(what, "local datagrams")) return socket(AF_UNIX, SOCK_DGRAM, 0);
  if (!strcmp(what, "raw socket")) return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
  if (!strcmp(what, "survive the parent")) return prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
  if (!strcmp(what, "read")) return open(file, O_RDONLY);
  if (!strcmp(what, "write")) return open(file, O_WRONLY);
  if (!strcmp(what, "append")) return open(file, O_WRONLY | O_APPEND);
  if (!strcmp(what, "both")) return open(file, O_RDWR);
  if (!strcmp(what, "truncate")) return open(file, O_RDONLY | O_TRUNC);
  if (!strcmp(what, "create")) return open(getenv("INTRUDER_NEW"), O_WRONLY | O_CREAT, 0600);
  if (!strcmp(what, "unlink")) return unlink(file);
  if (!strcmp(what, "list")) return open(getenv("INTRUDER_FOLDER"), O_RDONLY | O_DIRECTORY);
  if (!strcmp(what, "execute")) return execl("/bin/true", "true", (char *)NULL);
  if (!strcmp(what, "trace")) return ptrace(PTRACE_ATTACH, getppid(), 0, 0);
  return -2;
}

ssize_t recv(int socket, void *buffer, size_t count, int flags) {
  const char *what = getenv("INTRUDER");
  (void)socket, (void)buffer, (void)count, (void)flags;
  errno = 0;
  long result = attempt(what ? what : "");
  char text[200];
  int length = snprintf(
      text, sizeof text, "%s: %s\n", what, result == -1 ? strerror(errno) : result == -2 ? "unknown" : "done");
  _exit(write(STDERR_FILENO, text, (size_t)length) == length ? 99 : 98);
}

// A kernel without filters, if the test asks for one.
int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
  unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
  va_end(list);
  if (option == PR_SET_SECCOMP && getenv("INTRUDER_UNFILTERED")) {
    errno = EINVAL;
    return -1;
  }
  return (int)syscall(SYS_prctl, option, a, b, c, d);
}
