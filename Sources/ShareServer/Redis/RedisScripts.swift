/// The scripts that change what Redis has of groups and users. Redis does each of them at once and as a whole, so that
/// no reader ever sees half of a change; what a script wrote goes to the replicas as a whole, too.
///
/// Names begin with `vs:`. Ids stand in them as their 16 bytes.
///
/// | key | what |
/// |---|---|
/// | `vs:meta` | hash: mark (how far time has come), ahead (how far it is ahead of the clock) and skipped (how much of it was jumped over: ``LifeClock``), identity and epoch of the primary, settled (the last epoch that replicas have), shares, bytes |
/// | `vs:g` group | hash: ttl, users, seats, names (of removed users that are kept), cursor, epoch, shares, bytes; `k` tag: seat, whether pending (2: used, but perhaps not known to replicas), digest; `c` and `p` seat: tag of the present and of the pending key; `u` id: seat and, of who was removed, when his name goes; `s` seat: id |
/// | `vs:l` group | sorted set: the shares' ids by cursor |
/// | `vs:m` group | hash: by id, cursor, seat of the sender, expiry, size, weight, recipients of each share |
/// | `vs:d` group id | cursor and sealed bytes of a share; expires with it |
/// | `vs:x` | sorted set: group and id of all shares by expiry |
/// | `vs:e` | sorted set: groups by the end that comes if nobody uses them, in time that wasn't jumped over |
/// | `vs:r` | sorted set: group and seat of removed users by when their names go |
/// | `vs:erased` | set: groups whose shares are to be deleted |
enum RedisScripts {
  /// What every script begins with. The first three arguments are always the latest time that the asking process knows,
  /// the channel for news and the group.
  ///
  /// Time is Redis's, since all processes have that in common, but never before the mark, which is replicated, or what
  /// the asking process has seen: it doesn't go back when another machine becomes the primary, or somebody sets its
  /// clock back, but runs on from there, ahead of that clock. Tests say what time it is, by `=` and the time.
  static let start = """
    local meta = 'vs:meta'
    local time = redis.call('TIME')
    local real = time[1] * 1000 + math.floor(time[2] / 1000)
    local stored = redis.call('HMGET', meta, 'mark', 'ahead', 'skipped')
    local ahead = tonumber(stored[2] or '0')
    local fixed = string.sub(ARGV[1], 1, 1) == '='
    local now
    if fixed then
      now = tonumber(string.sub(ARGV[1], 2))
    else
      now = math.max(real + ahead, tonumber(stored[1] or '0'), tonumber(ARGV[1]))
    end
    local channel, gid = ARGV[2], ARGV[3]
    local g = 'vs:g' .. gid
    local gap = 1048576
    local function text(number) return string.format('%.0f', number) end
    local function skipped()
      local known, mark = tonumber(stored[3] or '0'), tonumber(stored[1] or '0')
      if mark > 0 and now - mark > \(LifeClock.longestStep) then return known + now - mark end
      return known
    end
    local function life() return now - skipped() end
    local function note()
      redis.call('HSET', meta, 'mark', text(now), 'skipped', text(skipped()))
      if not fixed and now > real + ahead then redis.call('HSET', meta, 'ahead', text(now - real)) end
    end
    local function packed(seat) return struct.pack('>I4', seat) end
    local function epoch() return tonumber(redis.call('HGET', meta, 'epoch') or '0') end
    local function settled() return tonumber(redis.call('HGET', meta, 'settled') or '0') end
    local function newest(epoch)
      local found = redis.call('HMGET', g, 'cursor', 'epoch')
      return tonumber(found[1]) + math.max(0, epoch - tonumber(found[2])) * gap
    end
    local function pastLimit() redis.call('DEL', 'vs:none') end
    local function seatOf(tag)
      local key = redis.call('HGET', g, 'k' .. tag)
      return key and (struct.unpack('>I4', key))
    end
    local function ended() redis.call('PUBLISH', channel, gid .. 'e') end
    local function drop(group, id, m)
      local cursor, seat, expires, size, weight = struct.unpack('>I8I4I8I4I4', m)
      redis.call('ZREM', 'vs:l' .. group, id)
      redis.call('HDEL', 'vs:m' .. group, id)
      redis.call('DEL', 'vs:d' .. group .. id)
      redis.call('ZREM', 'vs:x', group .. id)
      if redis.call('EXISTS', 'vs:g' .. group) == 1 then
        redis.call('HINCRBY', 'vs:g' .. group, 'shares', -1)
        redis.call('HINCRBY', 'vs:g' .. group, 'bytes', -weight)
        redis.call('HINCRBY', meta, 'shares', -1)
        redis.call('HINCRBY', meta, 'bytes', -weight)
      end
    end

    """

  private static func script(_ body: String) -> RedisScript { RedisScript(source: start + body) }

  /// Begins with a primary. If it is another than before, or was started anew, it may have lost what nobody
  /// acknowledged, and with that cursors that somebody has seen: from now on all cursors are a gap later. Arguments:
  /// what names this primary.
  static let hello = script(
    """
    pastLimit()
    if redis.call('HGET', meta, 'identity') ~= ARGV[4] then
      -- How far time was ahead of another machine's clock says nothing about this one's.
      ahead = 0
      if not fixed then now = math.max(real, tonumber(stored[1] or '0'), tonumber(ARGV[1])) end
      redis.call('HDEL', meta, 'ahead')
      redis.call('HSET', meta, 'identity', ARGV[4])
      redis.call('HINCRBY', meta, 'epoch', 1)
    end
    note()
    return {'ok', now, epoch()}
    """)

  /// The replicas know an epoch: cursors of it may be shown. Arguments: the epoch.
  static let settle = script(
    """
    pastLimit()
    if tonumber(ARGV[4]) > settled() then redis.call('HSET', meta, 'settled', ARGV[4]) end
    return {'ok', now}
    """)

  static let health = script("note() return {'ok', now}")

  /// Writes something, also where Redis has as much as it may have.
  static let touch = script("pastLimit() note() return {'ok', now}")

  /// Whose key this is. Arguments: tag, milliseconds that a group lives unused, and of its times to live.
  static let find = script(
    """
    local found = redis.call('HMGET', g, 'ttl', 'k' .. ARGV[4])
    if not found[1] or not found[2] then return {'unauthorized', now} end
    local seat, pending = struct.unpack('>I4B', found[2])
    local user = seat > 0 and redis.call('HGET', g, 's' .. packed(seat)) or ''
    local ends = life() + math.max(tonumber(ARGV[5]), 2000 * tonumber(found[1]))
    if ends - tonumber(redis.call('ZSCORE', 'vs:e', gid) or '0') > 86400000 then
      pastLimit()
      redis.call('ZADD', 'vs:e', text(ends), gid)
    end
    return {'ok', now, tonumber(found[1]), seat, pending, string.sub(found[2], 6), user}
    """)

  /// Makes a group. Arguments: time to live, owner, tag and digest of the master key and of the owner's, groups that
  /// there may be, milliseconds that a group lives unused.
  static let make = script(
    """
    local limit = tonumber(ARGV[10])
    if limit > 0 and redis.call('ZCARD', 'vs:e') >= limit then return {'groups', now} end
    if redis.call('EXISTS', g) == 1 then return {'again', now} end
    redis.call('HSET', g, 'ttl', ARGV[4], 'users', 1, 'seats', 1, 'cursor', 0, 'epoch', text(epoch()), 'shares', 0,
      'bytes', 0, 'k' .. ARGV[6], struct.pack('>I4B', 0, 0) .. ARGV[7], 'c' .. packed(0), ARGV[6],
      'k' .. ARGV[8], struct.pack('>I4B', 1, 0) .. ARGV[9], 'c' .. packed(1), ARGV[8],
      'u' .. ARGV[5], packed(1), 's' .. packed(1), ARGV[5])
    redis.call('ZADD', 'vs:e', text(life() + math.max(tonumber(ARGV[11]), 2000 * tonumber(ARGV[4]))), gid)
    note()
    return {'ok', now}
    """)

  /// Ends the key before a new one that has been used. The new one counts as pending until ``confirm``. Arguments: tag.
  static let adopt = script(
    """
    pastLimit()
    note()
    local key = redis.call('HGET', g, 'k' .. ARGV[4])
    if not key then return {'unauthorized', now} end
    local seat, pending = struct.unpack('>I4B', key)
    if pending == 1 then
      local old = redis.call('HGET', g, 'c' .. packed(seat))
      if old then redis.call('HDEL', g, 'k' .. old) end
      redis.call('HDEL', g, 'p' .. packed(seat))
      redis.call('HSET', g, 'c' .. packed(seat), ARGV[4], 'k' .. ARGV[4],
        struct.pack('>I4B', seat, 2) .. string.sub(key, 6))
      ended()
    end
    return {'ok', now}
    """)

  /// Replicas know that the key before one is gone. Arguments: tag.
  static let confirm = script(
    """
    local key = redis.call('HGET', g, 'k' .. ARGV[4])
    if key then
      local seat, pending = struct.unpack('>I4B', key)
      if pending == 2 then
        pastLimit()
        redis.call('HSET', g, 'k' .. ARGV[4], struct.pack('>I4B', seat, 0) .. string.sub(key, 6))
      end
    end
    return {'ok', now}
    """)

  /// Arguments: tag.
  static let info = script(
    """
    if not seatOf(ARGV[4]) then return {'unauthorized', now} end
    local found = redis.call('HMGET', g, 'users', 'shares', 'bytes')
    return {'ok', now, tonumber(found[1]), tonumber(found[2]), tonumber(found[3]), newest(settled())}
    """)

  /// Adds a user. Arguments: tag, id, tag and digest of his key, users that there may be, names of removed ones that
  /// may be kept.
  static let add = script(
    """
    if not seatOf(ARGV[4]) then return {'unauthorized', now} end
    local found = redis.call('HMGET', g, 'users', 'seats', 'names')
    local seat = tonumber(found[2]) + 1
    if tonumber(found[1]) >= tonumber(ARGV[8]) or seat > 4294967295 then return {'users', now} end
    if tonumber(found[3] or '0') >= tonumber(ARGV[9]) then return {'names', now} end
    redis.call('HINCRBY', g, 'users', 1)
    redis.call('HSET', g, 'seats', text(seat), 'u' .. ARGV[5], packed(seat), 's' .. packed(seat), ARGV[5],
      'k' .. ARGV[6], struct.pack('>I4B', seat, 0) .. ARGV[7], 'c' .. packed(seat), ARGV[6])
    note()
    return {'ok', now}
    """)

  /// Gives a user, or for an empty id the group itself, a new key. Arguments: tag, id, tag and digest of the new key.
  static let rotate = script(
    """
    if not seatOf(ARGV[4]) then return {'unauthorized', now} end
    pastLimit()
    local seat = 0
    if ARGV[5] ~= '' then
      local user = redis.call('HGET', g, 'u' .. ARGV[5])
      if not user or #user > 4 then return {'none', now} end
      seat = struct.unpack('>I4', user)
    end
    local old = redis.call('HGET', g, 'p' .. packed(seat))
    if old then redis.call('HDEL', g, 'k' .. old) end
    redis.call('HSET', g, 'p' .. packed(seat), ARGV[6], 'k' .. ARGV[6], struct.pack('>I4B', seat, 1) .. ARGV[7])
    note()
    return {'ok', now}
    """)

  /// Ends a user's keys. Arguments: tag, id.
  static let remove = script(
    """
    pastLimit()
    note()
    if not seatOf(ARGV[4]) then return {'unauthorized', now} end
    local user = redis.call('HGET', g, 'u' .. ARGV[5])
    if not user or #user > 4 then return {'none', now} end
    local seat = struct.unpack('>I4', user)
    if seat == 1 then return {'owner', now} end
    for _, kind in ipairs({'c', 'p'}) do
      local tag = redis.call('HGET', g, kind .. user)
      if tag then redis.call('HDEL', g, 'k' .. tag, kind .. user) end
    end
    local ends = now + 1000 * tonumber(redis.call('HGET', g, 'ttl'))
    redis.call('HSET', g, 'u' .. ARGV[5], user .. '-')
    redis.call('HINCRBY', g, 'users', -1)
    redis.call('HINCRBY', g, 'names', 1)
    redis.call('ZADD', 'vs:r', text(ends), gid .. user)
    ended()
    return {'ok', now}
    """)

  /// Erases a group. Arguments: tag.
  static let erase = script(
    """
    pastLimit()
    note()
    if not seatOf(ARGV[4]) then return {'unauthorized', now} end
    \(erasing)
    return {'ok', now}
    """)

  static let erasing = """
    local counts = redis.call('HMGET', g, 'shares', 'bytes')
    redis.call('HINCRBY', meta, 'shares', 0 - tonumber(counts[1]))
    redis.call('HINCRBY', meta, 'bytes', 0 - tonumber(counts[2]))
    redis.call('DEL', g)
    redis.call('ZREM', 'vs:e', gid)
    redis.call('SADD', 'vs:erased', gid)
    ended()
    """
}
