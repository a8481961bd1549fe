// Loaded into vault-scan by tests: plays the part of a picture that has taken over the decoder. When the scanner is
// called, the process is closed off already; now it tries what INTRUDER names, says how that ended, and leaves with 99.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *idle(void *unused) { return unused; }

static long attempt(const char *what) {
  pthread_t thread;
  char byte = 0;
  if (!strcmp(what, "nothing")) return 0;
  if (!strcmp(what, "socket")) return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
  if (!strcmp(what, "local socket")) return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
  if (!strcmp(what, "open")) return open("/etc/passwd", O_RDONLY);
  if (!strcmp(what, "create")) return open(getenv("INTRUDER_FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!strcmp(what, "unlink")) return unlink(getenv("INTRUDER_FILE"));
  if (!strcmp(what, "execute")) return execl("/bin/true", "true", (char *)NULL);
  if (!strcmp(what, "fork")) return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (!strcmp(what, "thread")) {
    errno = pthread_create(&thread, NULL, idle, NULL);
    return errno ? -1 : 0;
  }
  if (!strcmp(what, "kill")) return kill(getppid(), 0);
  if (!strcmp(what, "trace")) return ptrace(PTRACE_ATTACH, getppid(), 0, 0);
  if (!strcmp(what, "prctl")) return prctl(PR_SET_DUMPABLE, 1);
  if (!strcmp(what, "executable memory"))
    return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!strcmp(what, "memory made executable")) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  }
  if (!strcmp(what, "mapped file")) return (long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 0, 0);
  if (!strcmp(what, "other input")) return read(STDIN_FILENO, &byte, 1);
  if (!strcmp(what, "other output")) return write(STDIN_FILENO, &byte, 1);
  if (!strcmp(what, "other request")) return ioctl(STDIN_FILENO, FIONREAD, &byte);
  return -2;
}

int zbar_scan_image(void *scanner, void *image) {
  const char *what = getenv("INTRUDER");
  (void)scanner;
  (void)image;
  errno = 0;
  long result = attempt(what ? what : "");
  char text[200];
  int length = snprintf(text, sizeof text, "%s: %s\n", what, result == -1 ? strerror(errno) : "done");
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
