#ifndef VAULT_LOCAL_MESSAGES_H
#define VAULT_LOCAL_MESSAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Messages over a local socket that keeps their bounds (SOCK_SEQPACKET). Bytes go straight between the caller's memory and
// the kernel. Neither call waits.

// Sends one message, and with it an open descriptor unless that is negative. Returns 0, or -1 and sets errno.
int vault_send_message(int socket, const void *bytes, size_t count, int descriptor);

// Receives one message of at most `capacity` bytes. `*descriptor` becomes the descriptor that came with it, closed on exec,
// or -1; it is the caller's. A message that is longer, or brings more than one descriptor, is dropped whole: EMSGSIZE.
// Returns the number of bytes, 0 at the end, or -1 and sets errno.
ssize_t vault_receive_message(int socket, void *bytes, size_t capacity, int *descriptor);

// Receives up to `capacity` bytes of a stream. `*descriptor` becomes the descriptor that came with them, closed on exec, or -1;
// it is the caller's. Several at once are all closed. Returns the number of bytes, 0 at the end, or -1 and sets errno.
ssize_t vault_receive_stream(int socket, void *bytes, size_t capacity, int *descriptor);

// Accepts a connection, which never waits and is closed on exec. Returns its descriptor, or -1 and sets errno.
int vault_accept(int listener);

// Finds out which user was at the other end of a local socket when it was connected. Returns 0, or -1 and sets errno.
int vault_peer_user(int socket, uint32_t *user);

#endif
