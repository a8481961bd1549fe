// A connection-oriented channel with nothing above it: what the kernel and the virtual controllers need for the same bytes.
#define _GNU_SOURCE
#include "bluetooth.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// As vault has them: messages of at most `unit` bytes, and credits for several.
enum { psm = 0x91, unit = 8192, window = 32768 };

static struct l2cap_address place(const char *address, uint16_t at) {
  struct l2cap_address place = {.family = family_bluetooth, .psm = at, .type = address_public};
  read_address(address, place.address);
  return place;
}

static int bound(struct l2cap_address address) {
  int handle = socket(family_bluetooth, SOCK_SEQPACKET | SOCK_CLOEXEC, protocol_l2cap);
  if (handle < 0) fail("no channel: %s", strerror(errno));
  if (bind(handle, (struct sockaddr *)&address, sizeof address) < 0) fail("the adapter can't be used: %s", strerror(errno));
  uint16_t mtu = window;
  if (setsockopt(handle, level_bluetooth, option_receive_mtu, &mtu, sizeof mtu) < 0) fail("the size can't be set: %s", strerror(errno));
  return handle;
}

static void await(int handle, short what) {
  struct pollfd wait = {handle, what, 0};
  if (poll(&wait, 1, 30000) <= 0) fail("the channel stands still");
}

static uint8_t byte_at(int position) { return (uint8_t)((uint32_t)position * 2654435761u >> 24); }

// Takes all bytes, compares them, and answers with one.
static int take(int listener, int count) {
  await(listener, POLLIN);
  int handle = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (handle < 0) fail("no connection: %s", strerror(errno));
  uint8_t bytes[unit];
  int got = 0;
  while (got < count) {
    await(handle, POLLIN);
    ssize_t size = read(handle, bytes, sizeof bytes);
    if (size <= 0) fail("the channel ended after %d bytes: %s", got, size < 0 ? strerror(errno) : "closed");
    for (ssize_t i = 0; i < size; i++, got++)
      if (bytes[i] != byte_at(got)) fail("byte %d is wrong", got);
  }
  if (send(handle, "", 1, MSG_NOSIGNAL) != 1) fail("the answer can't be sent: %s", strerror(errno));
  // The sender closes: closing first would drop the answer.
  await(handle, POLLIN);
  close(handle);
  return 0;
}

int knock(int count, char **arguments) {
  if (count != 3) return 64;
  int handle = bound(place(arguments[0], 0));
  struct l2cap_address to = place(arguments[1], (uint16_t)number(arguments[2], 1, 255));
  if (connect(handle, (struct sockaddr *)&to, sizeof to) < 0) {
    printf("%s\n", strerror(errno));
    return 1;
  }
  printf("open\n");
  return 0;
}

int channel(int count, char **arguments) {
  if (count != 3) return 64;
  int size = number(arguments[2], 1, 100000000);
  int listener = bound(place(arguments[1], psm));
  if (listen(listener, 1) < 0) fail("the adapter can't listen: %s", strerror(errno));
  pid_t child = fork();
  if (child < 0) fail("no process: %s", strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    exit(take(listener, size));
  }

  int handle = bound(place(arguments[0], 0));
  struct l2cap_address to = place(arguments[1], psm);
  double start = seconds();
  if (connect(handle, (struct sockaddr *)&to, sizeof to) < 0) fail("no connection: %s", strerror(errno));
  double connected = seconds();
  uint16_t mtu = 0;
  socklen_t length = sizeof mtu;
  if (getsockopt(handle, level_bluetooth, option_send_mtu, &mtu, &length) < 0 || mtu == 0) fail("no size: %s", strerror(errno));
  if (mtu > unit) mtu = unit;
  uint8_t bytes[unit];
  for (int sent = 0; sent < size;) {
    int part = size - sent < mtu ? size - sent : mtu;
    for (int i = 0; i < part; i++) bytes[i] = byte_at(sent + i);
    if (send(handle, bytes, (size_t)part, MSG_NOSIGNAL) != part) fail("the channel ended after %d bytes: %s", sent, strerror(errno));
    sent += part;
  }
  await(handle, POLLIN);
  if (read(handle, bytes, sizeof bytes) != 1) fail("no answer: %s", strerror(errno));
  double end = seconds();
  close(handle);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) fail("the receiver failed");
  printf("%d bytes: connected in %.3f s, sent and answered in %.3f s, %.1f kB/s\n", size, connected - start, end - connected,
         size / (end - connected) / 1000);
  return 0;
}
