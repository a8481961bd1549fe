// Tells the thread sanitizer when a `Mutex` of Swift is taken and given back with a wait.
//
// A mutex that is free is taken by code inlined into ours, which the sanitizer sees. One that isn't is taken and handed on inside
// libswiftSynchronization, which is built without the sanitizer, so that whatever the mutex protects would look like a race. These two
// functions stand in front of the library's, under their names and with Swift's way of passing arguments. They only add what
// the library does, so they hide no race that doesn't go through a mutex.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

typedef SWIFT void (*Lock)(uint32_t thread, SELF);
typedef SWIFT void (*Unlock)(SELF);

static Lock lock;
static Unlock unlock;

// Before there is a second thread. A program without mutexes has no such library, and calls neither.
__attribute__((constructor)) static void find(void) {
  lock = (Lock)dlsym(RTLD_NEXT, LOCK);
  unlock = (Unlock)dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void vault_lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void vault_unlock(SELF) __asm__(UNLOCK);

SWIFT void vault_lock(uint32_t thread, SELF) {
  lock(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT void vault_unlock(SELF) {
  __tsan_release(mutex);
  unlock(mutex);
}
