#define _GNU_SOURCE
#include "LocalMessages.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int vault_send_message(int socket, const void *bytes, size_t count, int descriptor) {
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  memset(&control, 0, sizeof control);
  if (descriptor >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return -1;
  if ((size_t)sent == count) return 0;
  errno = EIO;
  return -1;
}

ssize_t vault_receive_message(int socket, void *bytes, size_t capacity, int *descriptor) {
  struct iovec part = {.iov_base = bytes, .iov_len = capacity};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  *descriptor = -1;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return -1;
  // The room for one may hold two, because of its alignment.
  int found = -1;
  int others = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t place = 0; place < count; place++) {
      int next;
      memcpy(&next, CMSG_DATA(header) + place * sizeof next, sizeof next);
      if (found < 0) {
        found = next;
      } else {
        others++;
        close(next);
      }
    }
  }
  if (others > 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
    if (found >= 0) close(found);
    errno = EMSGSIZE;
    return -1;
  }
  *descriptor = found;
  return got;
}

ssize_t vault_receive_stream(int socket, void *bytes, size_t capacity, int *descriptor) {
  struct iovec part = {.iov_base = bytes, .iov_len = capacity};
  // The most that the kernel passes at once.
  union {
    char bytes[CMSG_SPACE(253 * sizeof(int))];
    struct cmsghdr aligned;
  } control;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  *descriptor = -1;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return -1;
  int all = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t place = 0; place < count; place++) {
      int next;
      memcpy(&next, CMSG_DATA(header) + place * sizeof next, sizeof next);
      if (all++ == 0) {
        *descriptor = next;
      } else {
        close(next);
      }
    }
  }
  if (all > 1) {
    close(*descriptor);
    *descriptor = -1;
  }
  return got;
}

int vault_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int vault_peer_user(int socket, uint32_t *user) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  if (size != sizeof peer) {
    errno = EIO;
    return -1;
  }
  *user = peer.uid;
  return 0;
}
