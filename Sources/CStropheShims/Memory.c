#define _GNU_SOURCE
#include "Link.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Every block begins with its size, so that it can be wiped and counted when it is freed. Blocks that grow get room for
// more: libstrophe lets text grow by a few bytes at a time.

typedef union {
  struct {
    size_t size;
    size_t room;
    /// It belongs to something that is to be sent.
    size_t isQueued;
  } of;
  max_align_t alignment;
} block_head;

static void *take(size_t size, size_t room, vault_strophe *link) {
  if (size > SIZE_MAX / 4 || room > SIZE_MAX / 2) return NULL;
  block_head *head = malloc(sizeof(block_head) + room);
  if (head == NULL) return NULL;
  head->of.size = size;
  head->of.room = room;
  head->of.isQueued = link->isQueuing;
  link->queued += link->isQueuing;
  link->live += room;
  return head + 1;
}

void *vault_strophe_take(size_t size, void *link) { return take(size, size, link); }

void vault_strophe_give(void *memory, void *context) {
  if (memory == NULL) return;
  vault_strophe *link = context;
  block_head *head = (block_head *)memory - 1;
  link->live -= head->of.room;
  link->queued -= head->of.isQueued;
  explicit_bzero(memory, head->of.room);
  free(head);
}

void *vault_strophe_retake(void *memory, size_t size, void *context) {
  if (memory == NULL) return vault_strophe_take(size, context);
  block_head *head = (block_head *)memory - 1;
  if (size <= head->of.room) {
    head->of.size = size;
    return memory;
  }
  void *larger = take(size, size < 256 ? size : size + size / 2, context);
  if (larger == NULL) return NULL;
  memcpy(larger, memory, head->of.size);
  vault_strophe_give(memory, context);
  return larger;
}
