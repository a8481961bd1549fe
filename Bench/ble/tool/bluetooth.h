// What the tool needs of the kernel's Bluetooth sockets, spelled out so that it builds without BlueZ's headers.
// Numbers and layouts: the kernel's include/net/bluetooth and BlueZ's doc/mgmt-api.txt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  family_bluetooth = 31,
  protocol_l2cap = 0,
  protocol_hci = 1,
  channel_monitor = 2,
  channel_control = 3,
  no_index = 0xffff,
  level_bluetooth = 274,
  option_send_mtu = 12,
  option_receive_mtu = 13,
  address_public = 1,
  address_random = 2,
};

struct hci_address {
  uint16_t family, index, channel;
};

struct l2cap_address {
  uint16_t family, psm;
  uint8_t address[6];
  uint16_t cid;
  uint8_t type;
};

// Ends the program with code 1.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
double seconds(void);
int number(const char *text, int least, int most);
uint16_t read16(const uint8_t *bytes);
void write16(uint8_t *bytes, uint16_t value);
void print_hex(const uint8_t *bytes, size_t count);
size_t read_hex(const char *text, uint8_t *bytes, size_t capacity);
// 00:11:22:33:44:55, of which the kernel has the last byte first.
void read_address(const char *text, uint8_t address[6]);
void print_address(const uint8_t address[6]);
// A socket of a channel of HCI, bound.
int hci_socket(uint16_t channel);

// Each has the arguments behind its own name and answers with the exit code; 64 if they make no sense.
int manage(int count, char **arguments);
int channel(int count, char **arguments);
int knock(int count, char **arguments);
int watch(int count, char **arguments);
int trace(int count, char **arguments);
int after(int count, char **arguments);
int radio(int count, char **arguments);
