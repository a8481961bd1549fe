#ifndef VAULT_BLUETOOTH_H
#define VAULT_BLUETOOTH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The kernel's sockets for Bluetooth. Its addresses are packed, and their header belongs to a library that is not needed
// otherwise. An address is six bytes, the last one first, and a type: 1 public, 2 random. Nothing here waits.

// A socket for a channel that keeps the bounds of messages (L2CAP, SOCK_SEQPACKET). Returns its descriptor, closed on exec, or
// -1 and sets errno.
int vault_l2cap_socket(void);

// Binds it to an adapter's address, and to a protocol number unless that is 0. Returns 0, or -1 and sets errno.
int vault_l2cap_bind(int socket, const uint8_t address[6], uint8_t type, uint16_t number);

// Begins to connect: returns -1 with EINPROGRESS, or 0, or -1 and sets errno.
int vault_l2cap_connect(int socket, const uint8_t address[6], uint8_t type, uint16_t number);

// Accepts a connection, which is closed on exec. Returns its descriptor, or -1 and sets errno.
int vault_l2cap_accept(int listener, uint8_t address[6], uint8_t *type);

// Says how long a message may be that arrives. To be called before listening or connecting. Returns 0, or -1 and sets errno.
int vault_l2cap_set_receive_limit(int socket, uint16_t count);

// How long a message may be that is sent on this connection. Returns it, or -1 and sets errno.
int vault_l2cap_send_limit(int socket);

// What the system says about the bytes on their way out: what that number means depends on the kind of socket, but it is the
// same whenever there are none. Returns it, or -1 and sets errno.
int vault_output_state(int socket);

// The error that waits at a socket, such as why it could not connect. Returns 0 for none, or the error.
int vault_socket_error(int socket);

// Sends one message. Returns the number of bytes, or -1 and sets errno.
ssize_t vault_send_packet(int socket, const void *bytes, size_t count);

// Receives one message, or as much of it as there is room for: the rest is lost. Returns the number of bytes, or -1 and sets errno.
ssize_t vault_receive_packet(int socket, void *bytes, size_t capacity);

// A socket for the management of adapters. Returns its descriptor, closed on exec, or -1 and sets errno.
int vault_management_socket(void);

#endif
