// A radio's pace between the kernel and the virtual controllers of `btvirt -s`: what they exchange in memory is held up for as long as it would take on
// the air. The model is an LE link of 1 Mbit/s (Bluetooth Core Specification, volume 6, part B, 2.1, 2.4 and 4.5): at each connection interval an event
// begins; in it the two sides take turns as long as either has data; who has something to say later waits for the next one. A packet of up to 251 bytes
// takes eight microseconds a byte, with 14 bytes of frame and check, and then the pause, the empty answer and the pause again. There are no losses.
//
// A slowness of 5 makes all of it take five times as long: where processors are emulated and as much slower than real ones, or more, times divided by
// it are those of a real radio between real processors (time dilation: Gupta and others, To Infinity and Beyond: Time-Warped Network Emulation, 2006).
#define _GNU_SOURCE
#include "bluetooth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { sides = 2, room = 1 << 16, depth = 64, packet_limit = 2048, command = 1, data = 2, event = 4, vendor = 0xff, data_header = 5, link_payload = 251 };

// What controllers have room for, and btvirt has not: the answer to LE Read Buffer Size.
enum { command_complete = 0x0e, read_buffer_size = 0x2002, buffer_size = link_payload, buffers = 8 };

static const char server[] = "/tmp/bt-server-le";

struct packet {
  size_t count;
  uint8_t bytes[packet_limit];
};

struct side {
  int host, controller;
  uint8_t stream[room];
  size_t held;
  struct packet queue[depth];
  size_t first, waiting;
};

static struct side side[sides];

static void put(int handle, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t done = write(handle, bytes, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("a packet is not taken: %s", strerror(errno));
    bytes += done;
    count -= (size_t)done;
  }
}

static int server_socket(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, server, sizeof server);
  for (int tries = 0; tries < 100; tries++) {
    int handle = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (handle < 0) fail("no socket: %s", strerror(errno));
    if (connect(handle, (struct sockaddr *)&address, sizeof address) == 0) return handle;
    close(handle);
    usleep(50000);
  }
  fail("btvirt does not answer at %s", server);
}

// A controller of the kernel's (drivers/bluetooth/hci_vhci.c); its index.
static int plug(struct side *one) {
  one->controller = server_socket();
  one->host = open("/dev/vhci", O_RDWR | O_CLOEXEC);
  if (one->host < 0) fail("no controller: %s", strerror(errno));
  const uint8_t primary[2] = {vendor, 0};
  uint8_t answer[16];
  put(one->host, primary, sizeof primary);
  ssize_t got = read(one->host, answer, sizeof answer);
  if (got != 4 || answer[0] != vendor) fail("the kernel makes no controller");
  return read16(answer + 2);
}

static double air_time(size_t count) {
  double time = 0;
  for (; count > 0; count -= count < link_payload ? count : link_payload)
    time += (double)((count < link_payload ? count : link_payload) + 14) * 8e-6 + 380e-6;
  return time;
}

// A packet of the kernel's: data waits for the air, all else goes at once.
static void from_host(struct side *one) {
  struct packet *packet = &one->queue[(one->first + one->waiting) % depth];
  ssize_t got = read(one->host, packet->bytes, packet_limit);
  if (got <= 0) fail("the kernel has ended the controller");
  packet->count = (size_t)got;
  if (packet->bytes[0] == data) {
    one->waiting++;
  } else if (packet->bytes[0] == command) {
    put(one->controller, packet->bytes, packet->count);
  }
}

static size_t whole(const uint8_t *bytes, size_t held) {
  size_t count = 0;
  if (held >= 3 && bytes[0] == event) count = 3u + bytes[2];
  if (held >= data_header && bytes[0] == data) count = data_header + (size_t)read16(bytes + 3);
  if (held > 0 && bytes[0] != event && bytes[0] != data) fail("the controller sent a packet of kind %d", bytes[0]);
  return count > 0 && count <= held ? count : 0;
}

static void from_controller(struct side *one) {
  ssize_t got = read(one->controller, one->stream + one->held, room - one->held);
  if (got <= 0) fail("btvirt has ended");
  one->held += (size_t)got;
  for (size_t count; (count = whole(one->stream, one->held)) > 0;) {
    if (count >= 10 && one->stream[0] == event && one->stream[1] == command_complete && read16(one->stream + 4) == read_buffer_size) {
      write16(one->stream + 7, buffer_size);
      one->stream[9] = buffers;
    }
    put(one->host, one->stream, count);
    one->held -= count;
    memmove(one->stream, one->stream + count, one->held);
  }
}

int radio(int count, char **arguments) {
  if (count != 2) return 64;
  double slowness = number(arguments[1], 1, 1000);
  double interval = number(arguments[0], 7, 4000) / 1000.0 * slowness;
  for (int i = 0; i < sides; i++) printf("controller %d\n", plug(&side[i]));
  // Who sends, if anybody, and until when; else whether an event is under way, or when the next one begins.
  int sender = -1, turn = 0;
  double end = 0, opens = 0;
  bool is_open = false;
  for (;;) {
    double now = seconds();
    if (sender >= 0 && now >= end) {
      struct side *one = &side[sender];
      put(one->controller, one->queue[one->first].bytes, one->queue[one->first].count);
      one->first = (one->first + 1) % depth;
      one->waiting--;
      turn = 1 - sender;
      sender = -1;
    }
    bool has_data = side[0].waiting > 0 || side[1].waiting > 0;
    if (sender < 0 && !has_data) is_open = false;
    if (sender < 0 && has_data && !is_open) {
      if (opens == 0) opens = ((double)(long)(now / interval) + 1) * interval;
      is_open = now >= opens;
    }
    if (sender < 0 && is_open) {
      opens = 0;
      sender = side[turn].waiting > 0 ? turn : 1 - turn;
      end = now + air_time(side[sender].queue[side[sender].first].count - data_header) * slowness;
    }
    double wake = sender >= 0 ? end : opens > 0 ? opens : now + 3600;
    struct pollfd waits[2 * sides];
    for (int i = 0; i < sides; i++) {
      waits[2 * i] = (struct pollfd){side[i].host, side[i].waiting < depth - 1 ? POLLIN : 0, 0};
      waits[2 * i + 1] = (struct pollfd){side[i].controller, POLLIN, 0};
    }
    double left = wake - seconds();
    if (left < 0) left = 0;
    struct timespec time = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    if (ppoll(waits, 2 * sides, &time, NULL) < 0 && errno != EINTR) fail("nothing can be waited for: %s", strerror(errno));
    for (int i = 0; i < sides; i++) {
      if (waits[2 * i].revents & POLLIN) from_host(&side[i]);
      if (waits[2 * i + 1].revents) from_controller(&side[i]);
    }
  }
}
