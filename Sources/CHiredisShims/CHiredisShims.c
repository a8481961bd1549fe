#include "CHiredisShims.h"

#include <errno.h>
#include <hiredis/sds.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Room in which replies are received. While it is enough, nothing that was read is copied to another place of the heap. */
enum { ROOM = 1 << 16, LARGEST_ROOM = 1 << 18 };

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* Whether the socket is ready before the end. */
static int ready(int descriptor, short events, long long end) {
  for (;;) {
    long long rest = end - now();
    if (rest <= 0) return 0;
    struct pollfd poller = {.fd = descriptor, .events = events};
    int count = poll(&poller, 1, (int)rest);
    if (count > 0) return 1;
    if (count < 0 && errno != EINTR) return 1;
  }
}

redisContext *vault_redis_connect(
    const char *host, int port, const char *path, int milliseconds, char *reason, size_t reason_size) {
  struct timeval time = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
  redisContext *context =
      path != NULL ? redisConnectUnixWithTimeout(path, time) : redisConnectWithTimeout(host, port, time);
  if (context == NULL) {
    snprintf(reason, reason_size, "no memory");
    return NULL;
  }
  if (context->err == 0 && context->reader != NULL) {
    sds buffer = sdsMakeRoomFor(context->reader->buf, ROOM);
    if (buffer != NULL) {
      context->reader->buf = buffer;
      context->reader->maxbuf = LARGEST_ROOM;
      if (path == NULL) redisEnableKeepAlive(context);
      return context;
    }
  }
  snprintf(reason, reason_size, "%s", context->err != 0 ? context->errstr : "no memory");
  redisFree(context);
  return NULL;
}

enum vault_redis_result vault_redis_send(
    redisContext *context, int count, const char **arguments, const size_t *lengths, int milliseconds) {
  char *command = NULL;
  long long length = redisFormatCommandArgv(&command, count, arguments, lengths);
  if (length < 0 || command == NULL) return VAULT_REDIS_MEMORY;
  long long end = now() + milliseconds;
  long long done = 0;
  enum vault_redis_result result = VAULT_REDIS_DONE;
  while (done < length) {
    ssize_t sent = send(context->fd, command + done, (size_t)(length - done), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += sent;
    } else if (sent < 0 && errno == EINTR) {
      continue;
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (ready(context->fd, POLLOUT, end)) continue;
      result = VAULT_REDIS_LATE;
      break;
    } else {
      result = VAULT_REDIS_ENDED;
      break;
    }
  }
  explicit_bzero(command, (size_t)length);
  redisFreeCommand(command);
  return result;
}

enum vault_redis_result vault_redis_receive(redisContext *context, int milliseconds, redisReply **reply) {
  long long end = now() + milliseconds;
  char buffer[16384];
  for (;;) {
    void *found = NULL;
    if (redisReaderGetReply(context->reader, &found) != REDIS_OK) return VAULT_REDIS_GARBLED;
    if (found != NULL) {
      *reply = found;
      return VAULT_REDIS_DONE;
    }
    ssize_t count = recv(context->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) {
      int fed = redisReaderFeed(context->reader, buffer, (size_t)count);
      explicit_bzero(buffer, (size_t)count);
      if (fed != REDIS_OK) return VAULT_REDIS_MEMORY;
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!ready(context->fd, POLLIN, end)) return VAULT_REDIS_LATE;
    } else {
      return VAULT_REDIS_ENDED;
    }
  }
}

void vault_redis_wipe(redisContext *context) {
  redisReader *reader = context->reader;
  if (reader == NULL || reader->buf == NULL) return;
  size_t length = sdslen(reader->buf);
  explicit_bzero(reader->buf, reader->pos < length ? reader->pos : length);
  explicit_bzero(reader->buf + length, sdsavail(reader->buf));
}

/* Overwrites the bytes of a reply, of which parts may be missing. Trees of replies are at most seven deep. */
static void wipe(redisReply *reply) {
  redisReply *path[8] = {reply};
  size_t places[8] = {0};
  int depth = 0;
  while (depth >= 0) {
    redisReply *part = path[depth];
    if (part != NULL && part->type == REDIS_REPLY_ARRAY && part->element != NULL && places[depth] < part->elements) {
      redisReply *next = part->element[places[depth]++];
      if (next != NULL && depth < 7) {
        path[++depth] = next;
        places[depth] = 0;
      }
      continue;
    }
    if (part != NULL && part->type != REDIS_REPLY_ARRAY && part->str != NULL) explicit_bzero(part->str, part->len);
    depth--;
  }
}

void vault_redis_end(redisContext *context) {
  if (context == NULL) return;
  redisReader *reader = context->reader;
  if (reader != NULL && reader->buf != NULL) explicit_bzero(reader->buf, sdsalloc(reader->buf));
  if (reader != NULL && reader->reply != NULL) wipe(reader->reply);
  redisFree(context);
}

void vault_redis_end_reply(redisReply *reply) {
  if (reply == NULL) return;
  /* hiredis frees trees of replies itself, and wipes none. */
  wipe(reply);
  freeReplyObject(reply);
}
