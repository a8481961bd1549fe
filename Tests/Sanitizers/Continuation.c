// Tells the thread sanitizer that what was done before a continuation is resumed comes before what its task does afterwards.
//
// The Swift runtime, which is built without the sanitizer, tells it so where the task waits already, but not where the continuation is
// resumed before the task begins to wait. The first two functions stand in front of those that resume, under their names and with Swift's way
// of passing arguments; the third in front of what every task calls when something that it awaited has returned. They add
// the order of one resumption and its own task, so they hide no other race.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#define RETURN "$sScC6resume9returningyxn_tF"
#define THROW "$sScC6resume8throwingyq_n_tF"
#define DEALLOC "swift_task_dealloc"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void ***continuation

typedef SWIFT void (*Resume)(void *value, void *first, void *second, SELF);
typedef SWIFT void (*Dealloc)(void *frame);
extern SWIFT void *swift_task_getCurrent(void);

static Resume resume_returning;
static Resume resume_throwing;
static Dealloc dealloc;

// Before there is a second thread.
__attribute__((constructor)) static void find(void) {
  resume_returning = (Resume)dlsym(RTLD_NEXT, RETURN);
  resume_throwing = (Resume)dlsym(RTLD_NEXT, THROW);
  dealloc = (Dealloc)dlsym(RTLD_NEXT, DEALLOC);
}

// A checked continuation holds an object, which holds the task's address, until it is resumed, behind the two words of every object.
static void release(void ***continuation) {
  void *task = (*continuation)[2];
  if (task) __tsan_release(task);
}

SWIFT void vault_return(void *value, void *first, void *second, SELF) __asm__(RETURN);
SWIFT void vault_throw(void *error, void *first, void *second, SELF) __asm__(THROW);
SWIFT void vault_dealloc(void *frame) __asm__(DEALLOC);

SWIFT void vault_return(void *value, void *first, void *second, SELF) {
  release(continuation);
  resume_returning(value, first, second, continuation);
}

SWIFT void vault_throw(void *error, void *first, void *second, SELF) {
  release(continuation);
  resume_throwing(error, first, second, continuation);
}

SWIFT void vault_dealloc(void *frame) {
  void *task = swift_task_getCurrent();
  if (task) __tsan_acquire(task);
  dealloc(frame);
}
