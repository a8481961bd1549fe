#define _GNU_SOURCE
#include "Link.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

// libstrophe waits with select(), which knows descriptors below FD_SETSIZE alone, and the system gives out the lowest
// that is free. So a few low ones are kept, for nothing, while there are any, and one of them is given up just before
// libstrophe asks for a socket.

#define KEPT 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int kept[KEPT];
static int count;

void vault_strophe_keep_descriptors(void) {
  pthread_mutex_lock(&lock);
  while (count < KEPT) {
    int descriptor = eventfd(0, EFD_CLOEXEC);
    if (descriptor < 0) break;
    if (descriptor >= FD_SETSIZE) {
      close(descriptor);
      break;
    }
    kept[count++] = descriptor;
  }
  pthread_mutex_unlock(&lock);
}

int vault_strophe_give_descriptor(void) {
  pthread_mutex_lock(&lock);
  int hasOne = count > 0;
  if (hasOne) close(kept[--count]);
  pthread_mutex_unlock(&lock);
  return hasOne;
}
