// Tells the thread sanitizer that what was done before a continuation is resumed comes before what its task does afterwards.
//
// The Swift runtime says so itself whenever it resumes one. It looks at that where the task waits already, but not where the continuation is
// resumed before the task begins to wait. This stands in front of the runtime's function that every task calls when something that
// it awaited has returned, under its name and with Swift's way of passing arguments, and looks then. So it adds the order
// of a task and those who have resumed it, and hides no other race.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#define DEALLOC "swift_task_dealloc"
#define SWIFT __attribute__((swiftcall))

typedef SWIFT void (*Dealloc)(void *frame);
extern SWIFT void *swift_task_getCurrent(void);

static Dealloc dealloc;

// Before there is a second thread.
__attribute__((constructor)) static void find(void) { dealloc = (Dealloc)dlsym(RTLD_NEXT, DEALLOC); }

SWIFT void vault_dealloc(void *frame) __asm__(DEALLOC);

SWIFT void vault_dealloc(void *frame) {
  void *task = swift_task_getCurrent();
  if (task) __tsan_acquire(task);
  dealloc(frame);
}
