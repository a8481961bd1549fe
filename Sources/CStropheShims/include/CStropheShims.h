#ifndef VAULT_STROPHE_SHIMS_H
#define VAULT_STROPHE_SHIMS_H

#include <stddef.h>
#include <stdint.h>
#include <strophe.h>

// libstrophe's callbacks for memory, logs, sockets and certificates, and the waiting that wakes up from outside.
//
// A link belongs to the thread that made it: every function but `vault_strophe_break` and
// `vault_strophe_progress` is called there.

typedef struct vault_strophe vault_strophe;

typedef struct {
  /// The stream's head came, at first and after each `vault_strophe_open`. `isRaw`: there is only the connection yet.
  void (*opened)(void *context, int isRaw);
  void (*stanza)(void *context, xmpp_stanza_t *stanza);
  /// The connection has ended; `error` is the system's number or 0.
  void (*ended)(void *context, int error);
} vault_strophe_callbacks;

/// Where a link stands after a step.
typedef struct {
  /// Bytes that libstrophe holds for this link.
  size_t live;
  /// Bytes that were read from the connection.
  uint64_t received;
  /// What came is not XML, or not one that libstrophe takes.
  int isMalformed;
} vault_strophe_state;

/// A link for one account's domain. NULL: no memory. It works no further while it holds more than `liveLimit` bytes.
vault_strophe *vault_strophe_new(
    const char *jid, const char *certificates, size_t liveLimit, vault_strophe_callbacks callbacks, void *context);
/// Begins to connect; what comes of it comes to the callbacks. With a host, that one instead of what DNS says.
int vault_strophe_connect(vault_strophe *link, const char *host, unsigned short port);
/// Whether it could not connect because too many descriptors are in use: libstrophe needs one below 1024.
int vault_strophe_lacks_descriptors(const vault_strophe *link);
/// Opens a stream, the first or the next one of this connection.
int vault_strophe_open(vault_strophe *link);
/// The handshake, which waits for the server; ended by `vault_strophe_break`.
int vault_strophe_secure(vault_strophe *link);
int vault_strophe_is_secure(vault_strophe *link);
/// Why the certificate was refused; empty if it was not.
const char *vault_strophe_refusal(const vault_strophe *link);
void vault_strophe_send(vault_strophe *link, const char *bytes, size_t count);
/// Whether everything has been given to the system.
int vault_strophe_takes_more(vault_strophe *link);
/// Sends, waits for the connection or for a write to `wake`, at most `pause` milliseconds, and reads.
void vault_strophe_step(vault_strophe *link, int wake, int pause, vault_strophe_state *state);
/// Bytes that the machine at the other end has taken of what was sent, and those that have come from there. From any thread, before
/// `vault_strophe_free`.
uint64_t vault_strophe_progress(vault_strophe *link);
/// Ends the connection at once, also one that is waited for. From any thread, before `vault_strophe_free`.
void vault_strophe_break(vault_strophe *link);
/// Frees the link. Returns the bytes that libstrophe has not given back.
size_t vault_strophe_free(vault_strophe *link);

/// Keeps signals of broken connections away from this thread.
void vault_strophe_ignore_pipe_signals(void);
/// Keeps some descriptors that libstrophe can use, while there are any; from any thread.
void vault_strophe_keep_descriptors(void);
/// A descriptor to wake a step by, or -1.
int vault_strophe_wake_new(void);
void vault_strophe_wake(int wake);

#endif
