#define _GNU_SOURCE
#include "Link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

// The callbacks for sockets and certificates get no context of the caller's; each link has a thread of its own.
static _Thread_local vault_strophe *current;

static pthread_once_t preparation = PTHREAD_ONCE_INIT;

static void prepare(void) {
  vault_strophe_keep_descriptors();
  xmpp_initialize();
  // libstrophe's parser keeps the first context of the process for expat's memory, for ever and without a lock. This
  // one is never freed and never used for anything else.
  xmpp_ctx_t *first = xmpp_ctx_new(NULL, NULL);
  if (first != NULL) xmpp_conn_new(first);
}

static void logged(void *context, xmpp_log_level_t level, const char *area, const char *message) {
  vault_strophe *link = context;
  (void)level;
  if (strcmp(area, "xmpp") == 0 && strncmp(message, "parse error", 11) == 0) link->isMalformed = 1;
}

static int made_socket(xmpp_conn_t *connection, void *socket) {
  (void)connection;
  vault_strophe *link = current;
  int descriptor = *(int *)socket;
  if (link == NULL) return -1;
  // select() writes beyond its sets for larger ones.
  link->isBeyond = descriptor >= FD_SETSIZE;
  if (link->isBeyond) return -1;
  int yes = 1;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  // The low ones are for who needs them, if there may be others.
  int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, FD_SETSIZE);
  if (copy < 0) copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  link->isBeyond = copy < 0;
  if (copy < 0) return -1;
  pthread_mutex_lock(&link->lock);
  if (link->socket >= 0) close(link->socket);
  link->socket = copy;
  pthread_mutex_unlock(&link->lock);
  return 0;
}

static int refused(const xmpp_tlscert_t *certificate, const char *const reason) {
  (void)certificate;
  if (current != NULL && reason != NULL) {
    strncpy(current->refusal, reason, sizeof current->refusal - 1);
    if (current->refusal[0] == 0) strcpy(current->refusal, "certificate refused");
  }
  return 0;
}

static void happened(
    xmpp_conn_t *connection, xmpp_conn_event_t event, int error, xmpp_stream_error_t *stream, void *context) {
  (void)connection, (void)stream;
  vault_strophe *link = context;
  link->isActive = link->hasCalled = 1;
  switch (event) {
    case XMPP_CONN_RAW_CONNECT: link->callbacks.opened(link->callbackContext, 1); break;
    case XMPP_CONN_CONNECT: link->callbacks.opened(link->callbackContext, 0); break;
    default:
      if (!link->hasEnded) {
        link->hasEnded = 1;
        link->callbacks.ended(link->callbackContext, error);
      }
  }
}

static int came(xmpp_conn_t *connection, xmpp_stanza_t *stanza, void *context) {
  (void)connection;
  vault_strophe *link = context;
  link->hasCalled = 1;
  if (!link->hasEnded) link->callbacks.stanza(link->callbackContext, stanza);
  return 1;
}

vault_strophe *vault_strophe_new(
    const char *jid, const char *certificates, size_t liveLimit, vault_strophe_callbacks callbacks, void *context) {
  pthread_once(&preparation, prepare);
  vault_strophe *link = calloc(1, sizeof *link);
  if (link == NULL) return NULL;
  link->memory = (xmpp_mem_t){vault_strophe_take, vault_strophe_give, vault_strophe_retake, link};
  link->log = (xmpp_log_t){logged, link};
  link->liveLimit = liveLimit;
  link->callbacks = callbacks;
  link->callbackContext = context;
  link->socket = -1;
  pthread_mutex_init(&link->lock, NULL);
  current = link;
  link->context = xmpp_ctx_new(&link->memory, &link->log);
  link->connection = link->context == NULL ? NULL : xmpp_conn_new(link->context);
  if (link->connection == NULL) {
    vault_strophe_free(link);
    return NULL;
  }
  xmpp_conn_set_flags(link->connection, XMPP_CONN_FLAG_MANDATORY_TLS | XMPP_CONN_FLAG_DISABLE_SM);
  xmpp_conn_set_jid(link->connection, jid);
  if (certificates != NULL) xmpp_conn_set_cafile(link->connection, certificates);
  xmpp_conn_set_certfail_handler(link->connection, refused);
  xmpp_conn_set_sockopt_callback(link->connection, made_socket);
  xmpp_handler_add(link->connection, came, NULL, NULL, NULL, link);
  return link;
}

/// Whether it was for that that there is no socket.
static int lacks_descriptors(vault_strophe *link) {
  int probe = eventfd(0, EFD_CLOEXEC);
  if (probe < 0 && (errno == EMFILE || errno == ENFILE)) link->isBeyond = 1;
  if (probe >= 0) close(probe);
  return link->isBeyond;
}

int vault_strophe_connect(vault_strophe *link, const char *host, unsigned short port) {
  vault_strophe_keep_descriptors();
  int result;
  // Another thread may be quicker to take the one that is given up.
  do {
    link->isBeyond = 0;
    result = xmpp_connect_raw(link->connection, host, port, happened, link);
  } while (result != 0 && lacks_descriptors(link) && !link->isBroken && vault_strophe_give_descriptor());
  return result;
}

int vault_strophe_lacks_descriptors(const vault_strophe *link) { return link->isBeyond; }

int vault_strophe_open(vault_strophe *link) {
  link->isQueuing = 1;
  int result = xmpp_conn_open_stream_default(link->connection);
  link->isQueuing = 0;
  return result;
}

int vault_strophe_secure(vault_strophe *link) {
  // The certificates are read from files.
  int probe = eventfd(0, EFD_CLOEXEC);
  if (probe >= 0)
    close(probe);
  else
    vault_strophe_give_descriptor();
  int result = xmpp_conn_tls_start(link->connection);
  vault_strophe_keep_descriptors();
  return result;
}

int vault_strophe_is_secure(vault_strophe *link) { return xmpp_conn_is_secured(link->connection); }

const char *vault_strophe_refusal(const vault_strophe *link) { return link->refusal; }

void vault_strophe_send(vault_strophe *link, const char *bytes, size_t count) {
  link->isQueuing = 1;
  xmpp_send_raw(link->connection, bytes, count);
  link->isQueuing = 0;
}

int vault_strophe_takes_more(vault_strophe *link) { return link->queued == 0; }

/// Bytes that were read so far. Only this thread reads, so that the two numbers belong together if nothing came
/// between.
static uint64_t received(vault_strophe *link) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  int before = 0, after = 0;
  if (link->socket < 0) return 0;
  do {
    memset(&info, 0, sizeof info);
    if (ioctl(link->socket, SIOCINQ, &before) != 0 ||
        getsockopt(link->socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        ioctl(link->socket, SIOCINQ, &after) != 0 || before < 0)
      return 0;
  } while (before != after);
  return info.tcpi_bytes_received > (uint64_t)before ? info.tcpi_bytes_received - (uint64_t)before : 0;
}

/// Lets libstrophe send and read until there is nothing to do. False if there may be more.
///
/// A record of TLS has up to 16 kB, of which libstrophe reads 4 at a time, and what is left then poll() doesn't see. So
/// it has read all if it has taken no byte from the system in four goes.
static int work(vault_strophe *link) {
  for (int round = 0; round < 32; round++) {
    uint64_t before = received(link);
    link->isActive = 0;
    for (int time = 0; time < 4; time++) {
      if (link->hasEnded || link->live > link->liveLimit) return 1;
      xmpp_run_once(link->context, 0);
    }
    if (!link->isActive && received(link) == before) return 1;
  }
  return 0;
}

void vault_strophe_step(vault_strophe *link, int wake, int pause, vault_strophe_state *state) {
  size_t queued = link->queued;
  link->hasCalled = 0;
  // What was called, and whoever waits for room in the queue, may have something to send now.
  if (!work(link) || link->hasCalled || (queued > 0 && link->queued == 0)) pause = 0;
  if (!link->hasEnded) {
    int isConnecting = xmpp_conn_is_connecting(link->connection);
    // libstrophe counts the time that connecting may take.
    if (isConnecting && pause > 100) pause = 100;
    struct pollfd descriptors[2] = {
        {.fd = wake, .events = POLLIN},
        {.fd = link->socket, .events = isConnecting ? POLLOUT : link->queued > 0 ? POLLIN | POLLOUT : POLLIN},
    };
    poll(descriptors, 2, pause);
    uint64_t count;
    if (descriptors[0].revents & POLLIN && read(wake, &count, sizeof count) < 0) count = 0;
    if (descriptors[1].revents != 0) work(link);
  }
  state->live = link->live;
  state->received = received(link);
  state->isMalformed = link->isMalformed;
}

uint64_t vault_strophe_progress(vault_strophe *link) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  memset(&info, 0, sizeof info);
  pthread_mutex_lock(&link->lock);
  int result = link->socket < 0 ? -1 : getsockopt(link->socket, IPPROTO_TCP, TCP_INFO, &info, &length);
  pthread_mutex_unlock(&link->lock);
  return result == 0 ? info.tcpi_bytes_acked + info.tcpi_bytes_received : 0;
}

void vault_strophe_break(vault_strophe *link) {
  link->isBroken = 1;
  pthread_mutex_lock(&link->lock);
  if (link->socket >= 0) shutdown(link->socket, SHUT_RDWR);
  pthread_mutex_unlock(&link->lock);
}

size_t vault_strophe_free(vault_strophe *link) {
  link->hasEnded = 1;
  vault_strophe_break(link);
  if (link->connection != NULL) xmpp_conn_release(link->connection);
  if (link->context != NULL) xmpp_ctx_free(link->context);
  if (link->socket >= 0) close(link->socket);
  pthread_mutex_destroy(&link->lock);
  current = NULL;
  size_t kept = link->live;
  explicit_bzero(link, sizeof *link);
  free(link);
  vault_strophe_keep_descriptors();
  return kept;
}

void vault_strophe_ignore_pipe_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int vault_strophe_wake_new(void) {
  int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0 || wake >= FD_SETSIZE) return wake;
  // It would take the last low one away from the socket that it is for, again and again.
  int copy = fcntl(wake, F_DUPFD_CLOEXEC, FD_SETSIZE);
  if (copy < 0) return wake;
  close(wake);
  return copy;
}

void vault_strophe_wake(int wake) {
  uint64_t one = 1;
  if (write(wake, &one, sizeof one) < 0) return;
}
