// The kernel's management socket: adapters, advertising, scanning, links.
#define _GNU_SOURCE
#include "bluetooth.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  command_list = 0x03,
  command_information = 0x04,
  command_powered = 0x05,
  command_connectable = 0x07,
  command_low_energy = 0x0d,
  command_disconnect = 0x14,
  command_links = 0x15,
  command_scan = 0x23,
  command_scan_end = 0x24,
  command_classic = 0x2a,
  command_scan_service = 0x3a,
  command_advertised = 0x3d,
  command_advertise = 0x3e,
  command_conceal = 0x3f,
  event_complete = 0x01,
  event_status = 0x02,
  event_connected = 0x0b,
  event_disconnected = 0x0c,
  event_found = 0x12,
  event_discovering = 0x13,
  low_energy = 6,  // public and random addresses
};

static int handle;
static FILE *record;

static void keep(char direction, const uint8_t *bytes, size_t count) {
  if (record == NULL) return;
  fprintf(record, "%c ", direction);
  for (size_t i = 0; i < count; i++) fprintf(record, "%02x", bytes[i]);
  fputc('\n', record);
  fflush(record);
}

// One message of the kernel; 0 if none comes in time.
static size_t receive(uint8_t *message, size_t capacity, double until) {
  double left = until - seconds();
  struct pollfd wait = {handle, POLLIN, 0};
  if (left <= 0 || poll(&wait, 1, (int)(left * 1000) + 1) <= 0) return 0;
  ssize_t got = read(handle, message, capacity);
  if (got < 6 || (size_t)got < 6 + (size_t)read16(message + 4)) fail("the kernel's message is cut short");
  keep('<', message, (size_t)got);
  return (size_t)got;
}

static int send_command(uint16_t command, uint16_t index, const uint8_t *data, size_t size, uint8_t *answer, size_t *answer_size) {
  uint8_t message[1024];
  if (size > sizeof message - 6) fail("the command is too long");
  write16(message, command);
  write16(message + 2, index);
  write16(message + 4, (uint16_t)size);
  if (size > 0) memcpy(message + 6, data, size);
  keep('>', message, size + 6);
  if (write(handle, message, size + 6) < 0) fail("the kernel takes no command: %s", strerror(errno));
  double until = seconds() + 10;
  for (;;) {
    size_t got = receive(message, sizeof message, until);
    if (got == 0) fail("no answer to command 0x%02x", command);
    uint16_t event = read16(message);
    if (got < 9 || (event != event_complete && event != event_status) || read16(message + 6) != command) continue;
    if (answer != NULL) {
      if (got - 9 > *answer_size) fail("the answer is too long");
      *answer_size = got - 9;
      memcpy(answer, message + 9, got - 9);
    }
    return message[8];
  }
}

static void must(uint16_t command, uint16_t index, const uint8_t *data, size_t size, uint8_t *answer, size_t *answer_size) {
  int status = send_command(command, index, data, size, answer, answer_size);
  if (status != 0) fail("command 0x%02x of adapter %d ended with status %d", command, index, status);
}

static int adapters(void) {
  static const char *const names[] = {"powered", "connectable", "fast-connectable", "discoverable", "bondable", "link-security", "ssp", "classic",
                                      "high-speed", "le", "advertising", "secure-connections", "debug-keys", "privacy"};
  uint8_t list[512], information[512];
  size_t size = sizeof list;
  must(command_list, no_index, NULL, 0, list, &size);
  for (size_t i = 2; i + 1 < size; i += 2) {
    uint16_t index = read16(list + i);
    size_t length = sizeof information;
    must(command_information, index, NULL, 0, information, &length);
    if (length < 17) fail("what the kernel says of adapter %d is too short", index);
    printf("%d ", index);
    print_address(information);
    for (size_t bit = 0; bit < sizeof names / sizeof names[0]; bit++)
      if (information[13 + bit / 8] >> (bit % 8) & 1) printf(" %s", names[bit]);
    printf("\n");
  }
  return 0;
}

static int power_on(uint16_t index) {
  const uint8_t off = 0, on = 1;
  must(command_powered, index, &off, 1, NULL, NULL);
  must(command_low_energy, index, &on, 1, NULL, NULL);
  // Refused by controllers that have LE only.
  send_command(command_classic, index, &off, 1, NULL, NULL);
  must(command_connectable, index, &on, 1, NULL, NULL);
  must(command_powered, index, &on, 1, NULL, NULL);
  return 0;
}

static void read_uuid(const char *text, uint8_t uuid[16]) {
  uint8_t bytes[16];
  if (read_hex(text, bytes, 16) != 16) fail("%s is no UUID of 128 bits", text);
  for (int i = 0; i < 16; i++) uuid[i] = bytes[15 - i];
}

static int advertise(uint16_t index, const char *instance, const char *uuid, const char *tag) {
  uint8_t message[128] = {(uint8_t)number(instance, 1, 255), 1};  // connectable
  uint8_t *data = message + 11, *end = data;
  uint8_t list[18] = {17, 7};
  read_uuid(uuid, list + 2);
  if (tag != NULL) {
    uint8_t bytes[12];
    size_t size = read_hex(tag, bytes, sizeof bytes);
    *end++ = (uint8_t)(17 + size);
    *end++ = 0x21;
    memcpy(end, list + 2, 16);
    memcpy(end + 16, bytes, size);
    end += 16 + size;
  }
  message[9] = (uint8_t)(end - data);
  message[10] = tag != NULL ? sizeof list : 0;
  if (tag == NULL) message[9] = sizeof list;
  memcpy(end, list, sizeof list);
  end += sizeof list;
  must(command_advertise, index, message, (size_t)(end - message), NULL, NULL);
  return 0;
}

static int scan(uint16_t index, int duration, const char *uuid) {
  const uint8_t kind = low_energy;
  uint8_t wanted[16], message[512];
  double until = seconds() + duration;
  bool found = false, again = true;
  if (uuid != NULL) read_uuid(uuid, wanted);
  while (!found) {
    if (again) {
      if (uuid == NULL) {
        must(command_scan, index, &kind, 1, NULL, NULL);
      } else {
        uint8_t filter[20] = {low_energy, 127, 1, 0};
        memcpy(filter + 4, wanted, 16);
        must(command_scan_service, index, filter, sizeof filter, NULL, NULL);
      }
      again = false;
    }
    size_t got = receive(message, sizeof message, until);
    if (got == 0) break;
    if (read16(message + 2) != index) continue;
    // The kernel ends each scan after some ten seconds.
    if (read16(message) == event_discovering && got >= 8 && message[7] == 0) again = true;
    if (read16(message) != event_found || got < 20) continue;
    size_t size = read16(message + 18);
    if (got < 20 + size) fail("what was found is cut short");
    print_address(message + 6);
    printf(" type %d, %d dBm, ", message[12], (int8_t)message[13]);
    print_hex(message + 20, size);
    printf("\n");
    found = uuid != NULL && memmem(message + 20, size, wanted, 16) != NULL;
  }
  send_command(command_scan_end, index, &kind, 1, NULL, NULL);
  return uuid == NULL || found ? 0 : 1;
}

// What happens to an adapter, until the time is over or somebody ends this.
static int events(uint16_t index, int duration) {
  printf("listening\n");
  for (double until = seconds() + duration;;) {
    uint8_t message[1024];
    size_t got = receive(message, sizeof message, until);
    if (got == 0) return 0;
    if (read16(message + 2) != index) continue;
    uint16_t event = read16(message);
    if (event == event_discovering && got >= 8) {
      printf("discovering %s\n", message[7] != 0 ? "on" : "off");
    } else if ((event == event_connected || event == event_disconnected) && got >= 12) {
      print_address(message + 6);
      printf(" %s\n", event == event_connected ? "connected" : "disconnected");
    }
  }
}

static int links(uint16_t index) {
  uint8_t answer[512];
  size_t size = sizeof answer;
  must(command_links, index, NULL, 0, answer, &size);
  for (size_t at = 2; at + 7 <= size; at += 7) {
    print_address(answer + at);
    printf(" type %d\n", answer[at + 6]);
  }
  return 0;
}

static int disconnect(uint16_t index, const char *address) {
  uint8_t message[7];
  read_address(address, message);
  message[6] = address_public;
  must(command_disconnect, index, message, sizeof message, NULL, NULL);
  return 0;
}

int manage(int count, char **arguments) {
  if (count < 1) return 64;
  const char *path = getenv("BLE_RECORD");
  if (path != NULL && *path != 0 && (record = fopen(path, "a")) == NULL) fail("%s can't be written: %s", path, strerror(errno));
  handle = hci_socket(channel_control);
  if (count == 1 && strcmp(arguments[0], "adapters") == 0) return adapters();
  if (count < 2) return 64;
  uint16_t index = (uint16_t)number(arguments[0], 0, no_index - 1);
  const char *what = arguments[1];
  if (count == 2 && strcmp(what, "on") == 0) return power_on(index);
  if (count == 2 && strcmp(what, "off") == 0) {
    const uint8_t off = 0;
    must(command_powered, index, &off, 1, NULL, NULL);
    return 0;
  }
  if ((count == 4 || count == 5) && strcmp(what, "advertise") == 0)
    return advertise(index, arguments[2], arguments[3], count == 5 ? arguments[4] : NULL);
  if (count == 3 && strcmp(what, "conceal") == 0) {
    uint8_t instance = (uint8_t)number(arguments[2], 0, 255);
    must(command_conceal, index, &instance, 1, NULL, NULL);
    return 0;
  }
  if (count == 2 && strcmp(what, "advertised") == 0) {
    uint8_t answer[512];
    size_t size = sizeof answer;
    must(command_advertised, index, NULL, 0, answer, &size);
    if (size < 8) fail("the answer is too short");
    printf("%d\n", answer[7]);
    return 0;
  }
  if ((count == 3 || count == 4) && strcmp(what, "scan") == 0)
    return scan(index, number(arguments[2], 1, 600), count == 4 ? arguments[3] : NULL);
  if (count == 3 && strcmp(what, "events") == 0) return events(index, number(arguments[2], 1, 3600));
  if (count == 2 && strcmp(what, "links") == 0) return links(index);
  if (count == 3 && strcmp(what, "disconnect") == 0) return disconnect(index, arguments[2]);
  return 64;
}
