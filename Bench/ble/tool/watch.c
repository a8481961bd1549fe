// The data that passes between the kernel and the controllers, as the kernel's monitor shows it.
#define _GNU_SOURCE
#include "bluetooth.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { monitor_sent = 4, header = 6, acl_header = 4 };

struct sums {
  double first, last, pause, pauses;
  long packets, bytes;
};

// Seconds from which on a pause is one.
static const double notable = 0.005;

static volatile sig_atomic_t ended;
static void end(int number) {
  (void)number;
  ended = 1;
}

// Adds up until so many bytes have passed, the time is over, or SIGTERM comes.
static struct sums add_up(long bytes, int duration, bool tells) {
  double until = seconds() + duration;
  int handle = hci_socket(channel_monitor);
  // What finds no room while somebody else has the processor is not counted.
  int room = 16 << 20;
  if (setsockopt(handle, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0) fail("no room for the monitor: %s", strerror(errno));
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  printf("watching\n");
  struct sums sums = {0};
  while (!ended && sums.bytes < bytes && seconds() < until) {
    struct pollfd wait = {handle, POLLIN, 0};
    if (poll(&wait, 1, 200) <= 0) continue;
    uint8_t message[65536];
    ssize_t got = read(handle, message, sizeof message);
    if (got < 0 && errno != EINTR) fail("the monitor ended: %s", strerror(errno));
    // What one controller sends another receives: counting what is sent counts each once.
    if (got < header + acl_header || read16(message) != monitor_sent) continue;
    double now = seconds();
    double pause = sums.packets > 0 ? now - sums.last : 0;
    if (pause > sums.pause) sums.pause = pause;
    if (pause > notable) sums.pauses += pause;
    if (sums.packets == 0) sums.first = now;
    sums.last = now;
    sums.packets++;
    sums.bytes += got - header - acl_header;
    if (tells) printf("%.4f %d %ld\n", now - sums.first, read16(message + 2), (long)(got - header - acl_header));
  }
  close(handle);
  return sums;
}

static int look(int count, char **arguments, bool tells) {
  if (count != 1) return 64;
  struct sums sums = add_up(1L << 60, number(arguments[0], 1, 3600), tells);
  printf("%ld bytes in %ld packets within %.3f s, the longest pause %.3f s, all together %.3f s\n", sums.bytes, sums.packets, sums.last - sums.first,
         sums.pause, sums.pauses);
  return 0;
}

int watch(int count, char **arguments) { return look(count, arguments, false); }

int trace(int count, char **arguments) { return look(count, arguments, true); }

int after(int count, char **arguments) {
  if (count < 3) return 64;
  long bytes = number(arguments[0], 1, 1 << 30);
  struct sums sums = add_up(bytes, number(arguments[1], 1, 3600), false);
  if (sums.bytes < bytes) return 1;
  execvp(arguments[2], arguments + 2);
  fail("%s can't be run: %s", arguments[2], strerror(errno));
}
