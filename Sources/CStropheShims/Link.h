#ifndef VAULT_STROPHE_LINK_H
#define VAULT_STROPHE_LINK_H

#include "CStropheShims.h"

#include <pthread.h>
#include <stdatomic.h>

struct vault_strophe {
  xmpp_mem_t memory;
  xmpp_log_t log;
  xmpp_ctx_t *context;
  xmpp_conn_t *connection;
  vault_strophe_callbacks callbacks;
  void *callbackContext;
  size_t live;
  size_t liveLimit;
  int isMalformed;
  int hasEnded;
  /// libstrophe has said something about the connection, upon which there may be something to send.
  int isActive;
  /// Some callback was called in this step.
  int hasCalled;
  /// What is allocated now is for something to be sent, and how many such blocks there are. libstrophe frees them when
  /// all is written, and doesn't tell of a stanza that is half written.
  size_t isQueuing;
  size_t queued;
  /// The last socket had a descriptor that libstrophe can't wait for.
  int isBeyond;
  /// Nothing is begun any more; another thread says so.
  atomic_int isBroken;
  char refusal[256];
  /// A second descriptor of the connection, which stays ours whatever libstrophe closes.
  int socket;
  pthread_mutex_t lock;
};

/// Gives one of the descriptors up that are kept. False: there is none.
int vault_strophe_give_descriptor(void);

void *vault_strophe_take(size_t size, void *link);
void vault_strophe_give(void *memory, void *link);
void *vault_strophe_retake(void *memory, size_t size, void *link);

#endif
