#define _GNU_SOURCE
#include "Bluetooth.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// From the kernel's include/net/bluetooth: its numbers for programs never change.
enum {
  family = 31,
  l2cap_protocol = 0,
  hci_protocol = 1,
  option_level = 274,
  send_limit_option = 12,
  receive_limit_option = 13,
  no_device = 0xffff,
  control_channel = 3,
};

struct l2cap_address {
  uint16_t family;
  uint16_t number;  // Little-endian.
  uint8_t device[6];
  uint16_t channel;
  uint8_t type;
};

struct hci_address {
  uint16_t family;
  uint16_t device;
  uint16_t channel;
};

static struct l2cap_address place(const uint8_t address[6], uint8_t type, uint16_t number) {
  struct l2cap_address place;
  memset(&place, 0, sizeof place);
  place.family = family;
  place.number = __builtin_bswap16(number);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  place.number = number;
#endif
  memcpy(place.device, address, sizeof place.device);
  place.type = type;
  return place;
}

int vault_l2cap_socket(void) {
  return socket(family, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, l2cap_protocol);
}

int vault_l2cap_bind(int socket, const uint8_t address[6], uint8_t type, uint16_t number) {
  struct l2cap_address here = place(address, type, number);
  return bind(socket, (struct sockaddr *)&here, sizeof here);
}

int vault_l2cap_connect(int socket, const uint8_t address[6], uint8_t type, uint16_t number) {
  struct l2cap_address there = place(address, type, number);
  return connect(socket, (struct sockaddr *)&there, sizeof there);
}

int vault_l2cap_accept(int listener, uint8_t address[6], uint8_t *type) {
  struct l2cap_address there;
  socklen_t size = sizeof there;
  memset(&there, 0, sizeof there);
  int accepted = accept4(listener, (struct sockaddr *)&there, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (accepted < 0) return -1;
  memcpy(address, there.device, sizeof there.device);
  *type = there.type;
  return accepted;
}

int vault_l2cap_set_receive_limit(int socket, uint16_t count) {
  return setsockopt(socket, option_level, receive_limit_option, &count, sizeof count);
}

int vault_l2cap_send_limit(int socket) {
  uint16_t count = 0;
  socklen_t size = sizeof count;
  if (getsockopt(socket, option_level, send_limit_option, &count, &size) != 0) return -1;
  if (size == sizeof count) return count;
  errno = EIO;
  return -1;
}

int vault_output_state(int socket) {
  int state = 0;
  return ioctl(socket, TIOCOUTQ, &state) == 0 ? state : -1;
}

int vault_socket_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

ssize_t vault_send_packet(int socket, const void *bytes, size_t count) {
  ssize_t sent;
  do {
    sent = send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t vault_receive_packet(int socket, void *bytes, size_t capacity) {
  ssize_t got;
  do {
    got = recv(socket, bytes, capacity, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return got;
}

int vault_management_socket(void) {
  int management = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, hci_protocol);
  if (management < 0) return -1;
  struct hci_address control = {.family = family, .device = no_device, .channel = control_channel};
  if (bind(management, (struct sockaddr *)&control, sizeof control) == 0) return management;
  int reason = errno;
  close(management);
  errno = reason;
  return -1;
}
