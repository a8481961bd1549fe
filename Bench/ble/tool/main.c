// ble-tool: what the bench does to the virtual controllers from outside, and the raw channel that it is measured against.
#define _GNU_SOURCE
#include "bluetooth.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static const char usage[] =
    "ble-tool adapters                              list them: index, address, settings\n"
    "ble-tool INDEX on | off                        power; on also makes it ready for LE\n"
    "ble-tool INDEX advertise INSTANCE UUID [TAG]   service data TAG (hex) with UUID in the scan response, or UUID alone\n"
    "ble-tool INDEX conceal INSTANCE                end that; 0 for all\n"
    "ble-tool INDEX advertised                      how many instances are registered\n"
    "ble-tool INDEX scan SECONDS [UUID]             print what is found; with UUID end with 0 at the first that has it, else with 1\n"
    "ble-tool INDEX links                           list the addresses that it has links to\n"
    "ble-tool INDEX disconnect ADDRESS              end a link\n"
    "ble-tool INDEX events SECONDS                  tell when it begins and ends to discover, and its links\n"
    "ble-tool watch SECONDS                         sum up the data on all links until SIGTERM\n"
    "ble-tool trace SECONDS                         the same, and tell of each packet: seconds since the first, adapter, bytes\n"
    "ble-tool after BYTES SECONDS COMMAND...        run a command when so many bytes have passed on all links; code 1 if they don't\n"
    "ble-tool radio MILLISECONDS SLOWNESS           two controllers of `btvirt -s` with a radio's pace and this connection interval, until btvirt ends\n"
    "ble-tool knock FROM TO PSM                     open a channel and close it again\n"
    "ble-tool channel FROM TO BYTES                 send BYTES through a channel between two own adapters, and time it\n"
    "With BLE_RECORD=FILE all messages to and from the kernel are added to FILE, > or < and hexadecimal.\n";

void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("ble-tool: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int number(const char *text, int least, int most) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 0);
  if (errno != 0 || end == text || *end != 0 || value < least || value > most) fail("%s is no number from %d to %d", text, least, most);
  return (int)value;
}

uint16_t read16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

void write16(uint8_t *bytes, uint16_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
}

void print_hex(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) printf("%02x", bytes[i]);
}

size_t read_hex(const char *text, uint8_t *bytes, size_t capacity) {
  size_t count = 0;
  for (; *text != 0; text += 2) {
    if (*text == '-') text++;
    unsigned value;
    int used = 0;
    if (count == capacity || sscanf(text, "%2x%n", &value, &used) != 1 || used != 2) fail("%s is not hexadecimal, or too long", text);
    bytes[count++] = (uint8_t)value;
  }
  return count;
}

void read_address(const char *text, uint8_t address[6]) {
  int used = 0;
  if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &address[5], &address[4], &address[3], &address[2], &address[1], &address[0],
             &used) != 6 ||
      text[used] != 0)
    fail("%s is no Bluetooth address", text);
}

void print_address(const uint8_t address[6]) {
  for (int i = 5; i >= 0; i--) printf("%02X%s", address[i], i > 0 ? ":" : "");
}

int hci_socket(uint16_t channel) {
  int handle = socket(family_bluetooth, SOCK_RAW | SOCK_CLOEXEC, protocol_hci);
  if (handle < 0) fail("no Bluetooth socket: %s", strerror(errno));
  struct hci_address address = {family_bluetooth, no_index, channel};
  if (bind(handle, (struct sockaddr *)&address, sizeof address) < 0) fail("channel %d can't be had: %s", channel, strerror(errno));
  return handle;
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN);
  static const struct {
    const char *name;
    int (*run)(int, char **);
  } commands[] = {{"channel", channel}, {"knock", knock}, {"watch", watch}, {"trace", trace}, {"after", after}, {"radio", radio}};
  int code = -1;
  for (size_t i = 0; count > 1 && i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp(arguments[1], commands[i].name) == 0) code = commands[i].run(count - 2, arguments + 2);
  if (code < 0) code = manage(count - 1, arguments + 1);
  if (code == 64) fputs(usage, stderr);
  return code;
}
