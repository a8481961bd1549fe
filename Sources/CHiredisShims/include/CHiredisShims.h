#ifndef VAULT_HIREDIS_SHIMS_H
#define VAULT_HIREDIS_SHIMS_H

#include <hiredis/hiredis.h>

/* hiredis forms commands and takes replies apart; the bytes are sent and received here, so that every wait has an end and nothing of a
   secret stays behind in a buffer. */

enum vault_redis_result {
  VAULT_REDIS_DONE = 0,
  VAULT_REDIS_LATE = 1,    /* the time was over */
  VAULT_REDIS_ENDED = 2,   /* the connection has ended or failed */
  VAULT_REDIS_GARBLED = 3, /* what came is not Redis's protocol */
  VAULT_REDIS_MEMORY = 4
};

/* Connects to `host` and `port`, or to the socket at `path` if that isn't NULL. NULL if it failed; then `reason` says why. */
redisContext *vault_redis_connect(
    const char *host, int port, const char *path, int milliseconds, char *reason, size_t reason_size);

/* Sends one command of binary arguments. */
enum vault_redis_result vault_redis_send(
    redisContext *context, int count, const char **arguments, const size_t *lengths, int milliseconds);

/* The next reply. */
enum vault_redis_result vault_redis_receive(redisContext *context, int milliseconds, redisReply **reply);

/* Overwrites what has been read and taken apart. */
void vault_redis_wipe(redisContext *context);

/* Ends a connection, and overwrites what was received over it, also a reply that isn't whole. */
void vault_redis_end(redisContext *context);

/* Overwrites a reply's bytes and gives its memory back. */
void vault_redis_end_reply(redisReply *reply);

#endif
