// Preloaded into a program (LD_PRELOAD), this library counts the calls that change files below given folders, and at one
// of them kills the process or makes the call fail; and it sets the wall clock wrong. It has no functions to call; what
// it is to do stands in the environment:
//
//   VAULT_FAULT_BELOW  folders, with colons between them; nothing else counts, so sockets and terminals don't
//   VAULT_FAULT_ONLY   counts only calls whose name and path, as in the log, contain this text
//   VAULT_FAULT_AT     number of the call, from 1; without it calls are counted and left alone
//   VAULT_FAULT_DEED   kill: SIGKILL just before the call; fail: the call fails; failing: it and all later ones
//   VAULT_FAULT_ERROR  EIO, ENOSPC or EROFS. A full disk still lets files be removed, and takes the first half of the
//                      first write; a read-only one refuses to open for writing what exists, too
//   VAULT_FAULT_LOG    file to which each counted call is appended: its number, its name and its path, with a '!' in
//                      front where the deed was done
//   VAULT_FAULT_CLOCK  file of at least eight bytes: the wall clock is so many seconds ahead as they say (an integer in the
//                      machine's order, which may change while the program runs)
//   VAULT_FAULT_COUNTS file of at least 24 bytes, in which it counts while the program runs, in three integers of 64 bits: allocations (AllocationCount),
//                      calls that wait for the disk, and bytes written to files below the folders that count
#ifndef VAULT_FAULT_INJECTION_H
#define VAULT_FAULT_INJECTION_H
#endif
