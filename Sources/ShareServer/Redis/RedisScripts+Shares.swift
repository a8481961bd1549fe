extension RedisScripts {
  private static func script(_ body: String) -> RedisScript { RedisScript(source: start + helpers + body) }

  private static let helpers = """
    local d = 'vs:d' .. gid
    local m = 'vs:m' .. gid
    local function seats(ids, also)
      if ids == '*' then return '*' end
      local found, seen = {}, {}
      for place = 1, #ids, 16 do
        local user = redis.call('HGET', g, 'u' .. string.sub(ids, place, place + 15))
        if not user or (#user > 4 and not also) then return nil end
        user = string.sub(user, 1, 4)
        if not seen[user] then seen[user] = true table.insert(found, user) end
      end
      table.sort(found, function(a, b) return struct.unpack('>I4', a) < struct.unpack('>I4', b) end)
      return table.concat(found)
    end
    local function isFor(seat, sender, recipients)
      if recipients == '*' then return true end
      local low, high = 0, #recipients / 4
      while low < high do
        local middle = math.floor((low + high) / 2)
        local found = struct.unpack('>I4', recipients, 4 * middle + 1)
        if found == seat then return true end
        if found < seat then low = middle + 1 else high = middle end
      end
      return false
    end
    local function open(share) return struct.unpack('>I8I4I8I4I4', share) end

    """

  /// What there is under the id of a share that somebody puts. Arguments: tag, id, ids of recipients or `*`.
  static let look = script(
    """
    local seat = seatOf(ARGV[4])
    if not seat or seat == 0 then return {'unauthorized', now} end
    local ttl = tonumber(redis.call('HGET', g, 'ttl'))
    local share = redis.call('HGET', m, ARGV[5])
    if not share then return {'new', now, ttl} end
    pastLimit()
    local cursor, sender, expires = open(share)
    if expires <= now then return {'new', now, ttl} end
    local recipients = seats(ARGV[6], true)
    if not recipients then return {'recipient', now} end
    local bytes = redis.call('GET', d .. ARGV[5])
    if bytes and (sender ~= seat or recipients ~= string.sub(share, 29)) then return {'taken', now} end
    note()
    return {'old', now, ttl, cursor, expires, bytes}
    """)

  /// Keeps a share. Arguments: tag, id, ids of recipients or `*`, expiry, size, weight, sealed bytes, cursor of a
  /// damaged one that it replaces, then what a group may have of shares and bytes, all may have of bytes, the largest
  /// cursor, and the epoch in which the keys were drawn: if it is over another primary may not have them.
  static let put = script(
    """
    local seat = seatOf(ARGV[4])
    if not seat or seat == 0 then return {'unauthorized', now} end
    local id, expires, size, weight = ARGV[5], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
    if expires <= now or (ARGV[16] ~= '' and tonumber(ARGV[16]) ~= epoch()) then return {'again', now} end
    local recipients = seats(ARGV[6], false)
    local share = redis.call('HGET', m, id)
    if share then
      local cursor, _, ends = open(share)
      if ends > now and cursor ~= tonumber(ARGV[11]) then return {'again', now} end
      drop(gid, id, share)
    end
    if not recipients then return {'recipient', now} end
    local counts = redis.call('HMGET', g, 'shares', 'bytes')
    if tonumber(counts[1]) >= tonumber(ARGV[12]) then return {'shares', now} end
    if tonumber(counts[2]) + weight > tonumber(ARGV[13]) then return {'bytes', now} end
    if tonumber(redis.call('HGET', meta, 'bytes') or '0') + weight > tonumber(ARGV[14]) then return {'full', now} end
    local cursor = newest(epoch()) + 1
    if cursor > tonumber(ARGV[15]) then return {'cursors', now} end
    redis.call('HSET', g, 'cursor', text(cursor), 'epoch', text(epoch()))
    redis.call('HINCRBY', g, 'shares', 1)
    redis.call('HINCRBY', g, 'bytes', weight)
    redis.call('HINCRBY', meta, 'shares', 1)
    redis.call('HINCRBY', meta, 'bytes', weight)
    redis.call('HSET', m, id, struct.pack('>I8I4I8I4I4', cursor, seat, expires, size, weight) .. recipients)
    redis.call('ZADD', 'vs:l' .. gid, text(cursor), id)
    redis.call('ZADD', 'vs:x', text(expires), gid .. id)
    redis.call('SET', d .. id, struct.pack('>I8', cursor) .. ARGV[10], 'PXAT', text(real + expires - now))
    redis.call('PUBLISH', channel, gid .. 's' .. packed(seat) .. recipients)
    note()
    return {'ok', now, cursor, expires}
    """)

  /// Which shares are on a page. While replicas don't know the epoch of this primary, cursors of it are shown to
  /// nobody: another primary could give the same ones to other shares. Arguments: tag, after, shares and bytes that it
  /// may have, shares that are looked at.
  static let select = script(
    """
    local seat = seatOf(ARGV[4])
    if not seat then return {'unauthorized', now} end
    local after, limit, room, scanned = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
    local level = settled()
    local next, more = newest(level), 0
    if after > next then
      if level < epoch() then return {'ok', now, after, 0, {}} end
      after = 0
    end
    local ids = redis.call('ZRANGEBYSCORE', 'vs:l' .. gid, '(' .. text(after), '+inf', 'LIMIT', 0, scanned + 1)
    local shares = #ids > 0 and redis.call('HMGET', m, unpack(ids)) or {}
    local rows, names, bytes, last = {}, {}, 0, after
    for place, share in ipairs(shares) do
      local cursor, sender, expires, size = last, seat, 0, 0
      if share then cursor, sender, expires, size = open(share) end
      local mine = share and sender ~= seat and expires > now and isFor(seat, sender, string.sub(share, 29))
      if place > scanned or (mine and #rows > 0 and (#rows == limit or bytes + size > room)) then
        next, more = last, 1
        break
      end
      if mine then
        names[sender] = names[sender] or redis.call('HGET', g, 's' .. packed(sender))
        table.insert(rows, {ids[place], cursor, expires, size, names[sender] or ''})
        bytes = bytes + size
      end
      last = cursor
    end
    return {'ok', now, next, more, rows}
    """)

  /// One share. Arguments: tag, id.
  static let get = script(
    """
    local seat = seatOf(ARGV[4])
    if not seat then return {'unauthorized', now} end
    local share = redis.call('HGET', m, ARGV[5])
    if not share then return {'none', now} end
    local cursor, sender, expires = open(share)
    local mine = sender == seat or isFor(seat, sender, string.sub(share, 29))
    local bytes = redis.call('GET', d .. ARGV[5])
    if not mine or expires <= now or not bytes then return {'none', now} end
    return {'ok', now, expires, bytes}
    """)

  /// Deletes a share for its sender. Arguments: tag, id.
  static let delete = script(
    """
    pastLimit()
    note()
    local seat = seatOf(ARGV[4])
    if not seat then return {'unauthorized', now} end
    local share = redis.call('HGET', m, ARGV[5])
    if not share then return {'none', now} end
    local _, sender, expires = open(share)
    if expires <= now or not (sender == seat or isFor(seat, sender, string.sub(share, 29))) then return {'none', now} end
    if sender ~= seat then return {'sender', now} end
    drop(gid, ARGV[5], share)
    return {'ok', now}
    """)

  /// Deletes some of what is over, and says whether there is more. Arguments: how much.
  static let sweep = script(
    """
    local count, more = tonumber(ARGV[4]), 0
    pastLimit()
    local expired = redis.call('ZRANGEBYSCORE', 'vs:x', '-inf', text(now), 'LIMIT', 0, count)
    for _, name in ipairs(expired) do
      local group, id = string.sub(name, 1, 16), string.sub(name, 17)
      local share = redis.call('HGET', 'vs:m' .. group, id)
      if share then drop(group, id, share) else redis.call('ZREM', 'vs:x', name) end
    end
    local removed = redis.call('ZRANGEBYSCORE', 'vs:r', '-inf', text(now), 'LIMIT', 0, count)
    for _, name in ipairs(removed) do
      local group, seat = 'vs:g' .. string.sub(name, 1, 16), 's' .. string.sub(name, 17)
      local user = redis.call('HGET', group, seat)
      if user then
        redis.call('HDEL', group, seat, 'u' .. user)
        if redis.call('HINCRBY', group, 'names', -1) < 0 then redis.call('HSET', group, 'names', 0) end
      end
      redis.call('ZREM', 'vs:r', name)
    end
    for _, unused in ipairs(redis.call('ZRANGEBYSCORE', 'vs:e', '-inf', text(life()), 'LIMIT', 0, 10)) do
      gid, g, more = unused, 'vs:g' .. unused, 1
      if redis.call('EXISTS', g) == 1 then
        \(erasing)
      else
        redis.call('ZREM', 'vs:e', gid)
      end
    end
    local erased = redis.call('SRANDMEMBER', 'vs:erased')
    if erased then
      local ids = redis.call('ZRANGE', 'vs:l' .. erased, 0, count - 1)
      for _, id in ipairs(ids) do
        redis.call('DEL', 'vs:d' .. erased .. id)
        redis.call('ZREM', 'vs:x', erased .. id)
        redis.call('HDEL', 'vs:m' .. erased, id)
        redis.call('ZREM', 'vs:l' .. erased, id)
      end
      if #ids < count then
        redis.call('DEL', 'vs:m' .. erased, 'vs:l' .. erased)
        redis.call('SREM', 'vs:erased', erased)
      end
      more = 1
    end
    if #expired == count or #removed == count then more = 1 end
    -- Also when nothing changes: a clock that was set back must not let time stand still, nor a quiet day look like a jump.
    local isBehind = not fixed and now > real + ahead
    local isLate = now - tonumber(stored[1] or '0') > \(LifeClock.keepingStep)
    if more == 1 or #expired > 0 or #removed > 0 or isBehind or isLate then note() end
    local totals = redis.call('HMGET', meta, 'shares', 'bytes')
    return {'ok', now, more, redis.call('ZCARD', 'vs:e'), tonumber(totals[1] or '0'), tonumber(totals[2] or '0')}
    """)

  /// The keys of a time slot and of a group, drawn if need be, and the epoch if shares are here, too. Arguments: names
  /// of the slot and the group, end of the slot, milliseconds until then, and a fresh key for each.
  static let keys = RedisScript(
    source: """
      local slot = redis.call('GET', ARGV[1])
      if not slot then
        slot = ARGV[5]
        redis.call('SET', ARGV[1], slot, 'PX', ARGV[4])
        redis.call('ZADD', 'vs:slots', ARGV[3], ARGV[1])
      end
      local group = redis.call('GET', ARGV[2])
      if not group then
        group = ARGV[6]
        redis.call('SET', ARGV[2], group, 'PX', ARGV[4])
      elseif redis.call('PTTL', ARGV[2]) < tonumber(ARGV[4]) then
        redis.call('PEXPIRE', ARGV[2], ARGV[4])
      end
      return {slot, group, redis.call('HGET', 'vs:meta', 'epoch') or ''}
      """)

  /// Deletes the keys of slots that are over, and says how many there still are. Arguments: the time.
  static let endKeys = RedisScript(
    source: """
      local names = redis.call('ZRANGEBYSCORE', 'vs:slots', '-inf', ARGV[1], 'LIMIT', 0, 1000)
      for _, name in ipairs(names) do
        redis.call('DEL', name)
        redis.call('ZREM', 'vs:slots', name)
      end
      return redis.call('ZCARD', 'vs:slots')
      """)
}
