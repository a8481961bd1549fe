// For RTLD_NEXT, O_TMPFILE and renameat2.
#define _GNU_SOURCE
#include "FaultInjection.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "Counts.h"

enum deed { COUNT, KILL, HANG, FAIL, FAILING };
enum effect { PROCEED, REFUSE, HALVE };
// What a call does to the disk decides which faults can meet it.
enum nature { TAKES_ROOM, WRITES, GIVES_ROOM, SYNCS };

static char folders[8][PATH_MAX];
static int folder_count;
static char log_path[PATH_MAX];
static char only[PATH_MAX];
static long fault_at;
static enum deed deed;
static int fault_error;
static atomic_long counter;
static atomic_int halved;

static void copy(char *target, const char *source) {
  target[0] = 0;
  if (source) snprintf(target, PATH_MAX, "%s", source);
}

__attribute__((constructor)) static void read_environment(void) {
  const char *below = getenv("VAULT_FAULT_BELOW");
  while (below && *below && folder_count < 8) {
    size_t length = strcspn(below, ":");
    snprintf(folders[folder_count++], PATH_MAX, "%.*s", (int)length, below);
    below += length + (below[length] == ':');
  }
  copy(log_path, getenv("VAULT_FAULT_LOG"));
  copy(only, getenv("VAULT_FAULT_ONLY"));
  const char *at = getenv("VAULT_FAULT_AT"), *what = getenv("VAULT_FAULT_DEED"), *error = getenv("VAULT_FAULT_ERROR");
  fault_at = at ? atol(at) : 0;
  deed = !what ? COUNT : !strcmp(what, "kill") ? KILL : !strcmp(what, "hang") ? HANG : !strcmp(what, "fail") ? FAIL : FAILING;
  fault_error = !error || !strcmp(error, "EIO") ? EIO : !strcmp(error, "ENOSPC") ? ENOSPC : EROFS;
}

static int is_below(const char *path) {
  for (int number = 0; number < folder_count; number++) {
    size_t length = strlen(folders[number]);
    if (!strncmp(path, folders[number], length) && (path[length] == '/' || !path[length])) return 1;
  }
  return 0;
}

static void path_of(int descriptor, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = 0;
}

// The absolute path of a name in an open folder.
static void path_at(int folder, const char *name, char *path) {
  char base[PATH_MAX];
  if (name[0] == '/') return copy(path, name);
  if (folder == AT_FDCWD) {
    if (!getcwd(base, sizeof base)) base[0] = 0;
  } else {
    path_of(folder, base);
  }
  snprintf(path, PATH_MAX, "%.2000s/%.2000s", base, name);
}

// By system calls alone, since the library's functions are the ones replaced here.
static void note(long number, const char *name, const char *path, int done) {
  if (!log_path[0]) return;
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%s%ld %s %s\n", done ? "!" : "", number, name, path);
  int log = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return;
  syscall(SYS_write, log, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
  syscall(SYS_close, log);
}

// Counts a call and says what is to become of it. Sets errno if it is refused.
static enum effect step(const char *name, const char *path, enum nature nature) {
  int before = errno;
  if (!is_below(path)) return PROCEED;
  if (only[0]) {
    char line[PATH_MAX + 64];
    snprintf(line, sizeof line, "%s %s", name, path);
    if (!strstr(line, only)) return PROCEED;
  }
  if (fault_error == ENOSPC && nature != TAKES_ROOM && nature != SYNCS) return PROCEED;
  if (fault_error == EROFS && nature == SYNCS) return PROCEED;
  long number = atomic_fetch_add(&counter, 1) + 1;
  int done = fault_at > 0 && (number == fault_at || (deed == FAILING && number > fault_at)) && deed != COUNT;
  note(number, name, path, done);
  errno = before;
  if (!done) return PROCEED;
  if (deed == KILL) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
  }
  // Other threads go on, and may end the process.
  while (deed == HANG) pause();
  errno = fault_error;
  int is_first = fault_error == ENOSPC && deed == FAILING && !strcmp(name, "write");
  return is_first && !atomic_exchange(&halved, 1) ? HALVE : REFUSE;
}

static enum effect step_at(const char *name, int folder, const char *file, enum nature nature) {
  if (!folder_count) return PROCEED;
  char path[PATH_MAX];
  int before = errno;
  path_at(folder, file, path);
  errno = before;
  return step(name, path, nature);
}

static enum effect step_on(const char *name, int descriptor, enum nature nature) {
  if (!folder_count) return PROCEED;
  char path[PATH_MAX];
  int before = errno;
  path_of(descriptor, path);
  errno = before;
  return step(name, path, nature);
}

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

// MARK: Opening

static int refuses_opening(int folder, const char *file, int flags) {
  if (!folder_count) return 0;
  struct stat status;
  int writes = (flags & O_ACCMODE) != O_RDONLY;
  int makes = (flags & O_TMPFILE) == O_TMPFILE;
  int before = errno;
  if (!makes && flags & O_CREAT) makes = fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) != 0;
  errno = before;
  if (makes) return step_at("create", folder, file, TAKES_ROOM) != PROCEED;
  // Opening what exists changes nothing: only a read-only file system minds.
  if (writes && fault_error == EROFS) return step_at("open", folder, file, WRITES) != PROCEED;
  return 0;
}

#define MODE(flags, mode)                                      \
  mode_t mode = 0;                                             \
  if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                              \
    va_start(rest, flags);                                     \
    mode = va_arg(rest, mode_t);                               \
    va_end(rest);                                              \
  }

int open(const char *path, int flags, ...) {
  MODE(flags, mode)
  return refuses_opening(AT_FDCWD, path, flags) ? -1 : REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags, mode)
  return refuses_opening(AT_FDCWD, path, flags) ? -1 : REAL(open64)(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE(flags, mode)
  return refuses_opening(folder, path, flags) ? -1 : REAL(openat)(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags, mode)
  return refuses_opening(folder, path, flags) ? -1 : REAL(openat64)(folder, path, flags, mode);
}

// MARK: Writing

static ssize_t written(int descriptor, ssize_t count) {
  if (!folder_count) return count;
  char path[PATH_MAX];
  int before = errno;
  path_of(descriptor, path);
  if (is_below(path)) count_written(count);
  errno = before;
  return count;
}

#define WRITING(type, name, declaration, descriptor, count, whole, half) \
  type name declaration {                                               \
    switch (step_on("write", descriptor, TAKES_ROOM)) {                 \
    case PROCEED: return (type)written(descriptor, REAL(name) whole);   \
    case HALVE:                                                         \
      if ((count) > 1) return REAL(name) half;                          \
    case REFUSE: return -1;                                             \
    }                                                                   \
    return -1;                                                          \
  }

WRITING(ssize_t, write, (int file, const void *bytes, size_t count), file, count, (file, bytes, count),
        (file, bytes, count / 2))
WRITING(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t offset), file, count,
        (file, bytes, count, offset), (file, bytes, count / 2, offset))
WRITING(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t offset), file, count,
        (file, bytes, count, offset), (file, bytes, count / 2, offset))
WRITING(ssize_t, writev, (int file, const struct iovec *parts, int count), file, count, (file, parts, count),
        (file, parts, count / 2))
WRITING(ssize_t, pwritev, (int file, const struct iovec *parts, int count, off_t offset), file, count,
        (file, parts, count, offset), (file, parts, count / 2, offset))

// MARK: Everything else

#define CHANGING(name, declaration, words, where, nature) \
  int name declaration { return where != PROCEED ? -1 : REAL(name) words; }

CHANGING(fsync, (int file), (file), (count_sync(), step_on("sync", file, SYNCS)), SYNCS)
CHANGING(fdatasync, (int file), (file), (count_sync(), step_on("sync", file, SYNCS)), SYNCS)
CHANGING(ftruncate, (int file, off_t size), (file, size), step_on("truncate", file, WRITES), WRITES)
CHANGING(ftruncate64, (int file, off64_t size), (file, size), step_on("truncate", file, WRITES), WRITES)
CHANGING(fallocate, (int file, int mode, off_t offset, off_t count), (file, mode, offset, count),
         step_on("allocate", file, TAKES_ROOM), TAKES_ROOM)
CHANGING(fallocate64, (int file, int mode, off64_t offset, off64_t count), (file, mode, offset, count),
         step_on("allocate", file, TAKES_ROOM), TAKES_ROOM)
CHANGING(fchmod, (int file, mode_t mode), (file, mode), step_on("chmod", file, WRITES), WRITES)
CHANGING(futimens, (int file, const struct timespec times[2]), (file, times), step_on("stamp", file, WRITES), WRITES)
CHANGING(unlink, (const char *path), (path), step_at("unlink", AT_FDCWD, path, GIVES_ROOM), GIVES_ROOM)
CHANGING(unlinkat, (int folder, const char *path, int flags), (folder, path, flags),
         step_at("unlink", folder, path, GIVES_ROOM), GIVES_ROOM)
CHANGING(rmdir, (const char *path), (path), step_at("rmdir", AT_FDCWD, path, GIVES_ROOM), GIVES_ROOM)
CHANGING(mkdir, (const char *path, mode_t mode), (path, mode), step_at("mkdir", AT_FDCWD, path, TAKES_ROOM),
         TAKES_ROOM)
CHANGING(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode),
         step_at("mkdir", folder, path, TAKES_ROOM), TAKES_ROOM)
CHANGING(rename, (const char *from, const char *to), (from, to), step_at("rename", AT_FDCWD, to, TAKES_ROOM),
         TAKES_ROOM)
CHANGING(renameat, (int old, const char *from, int folder, const char *to), (old, from, folder, to),
         step_at("rename", folder, to, TAKES_ROOM), TAKES_ROOM)
CHANGING(renameat2, (int old, const char *from, int folder, const char *to, unsigned flags),
         (old, from, folder, to, flags), step_at("rename", folder, to, TAKES_ROOM), TAKES_ROOM)
CHANGING(link, (const char *from, const char *to), (from, to), step_at("link", AT_FDCWD, to, TAKES_ROOM), TAKES_ROOM)
CHANGING(linkat, (int old, const char *from, int folder, const char *to, int flags), (old, from, folder, to, flags),
         step_at("link", folder, to, TAKES_ROOM), TAKES_ROOM)

// These two return their error instead of setting errno.
int posix_fallocate(int file, off_t offset, off_t count) {
  return step_on("allocate", file, TAKES_ROOM) != PROCEED ? fault_error : REAL(posix_fallocate)(file, offset, count);
}
int posix_fallocate64(int file, off64_t offset, off64_t count) {
  return step_on("allocate", file, TAKES_ROOM) != PROCEED ? fault_error : REAL(posix_fallocate64)(file, offset, count);
}
