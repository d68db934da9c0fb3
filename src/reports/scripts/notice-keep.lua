-- Keeps a notice and writes its event, once. Kinds do not push each other out: when there are too many, the oldest of the most frequent
-- kind goes, and of a flood only the first of each minute are kept.
--
-- Keys:
--   index    ZSET    id -> when it happened (ms)
--   outbox   STREAM  events of the account, if anybody wants them
-- Arguments:
--   id       begins with its kind and a dot
--   kind
--   text     the notice, JSON
--   at       when it happened (ms)
--   now      ms
--   keepMs   how long notices are kept
--   most     how many are kept
--   mostNow  how many of a kind are kept of one minute
--   event?   the event, JSON
-- Output: 'kept', 'known' when it is there already, 'missed' when its kind comes too fast, 'old' when there is no place for it
local index, outbox = unpack(KEYS)
local id, kind, text, at, now, keepMs, most, mostNow, event = unpack(cmsgpack.unpack(ARGV[1]), 1, 9)
local texts, kinds, missed = index .. SUFFIX.texts, index .. SUFFIX.kinds, index .. SUFFIX.missed
if redis.call('ZSCORE', index, id) then return 'known' end
if at < now - keepMs then return 'old' end

local rate = index .. SUFFIX.rate .. kind
local came = redis.call('INCR', rate)
if came == 1 then redis.call('PEXPIRE', rate, 60000) end
if came > mostNow then
  redis.call('HINCRBY', missed, kind, 1)
  redis.call('PEXPIRE', missed, keepMs)
  return 'missed'
end

local function remove(each)
  local of = string.match(each, '^([^.]+)%.')
  redis.call('ZREM', index, each)
  redis.call('HDEL', texts, each)
  redis.call('ZREM', index .. SUFFIX.ofKind .. of, each)
  if tonumber(redis.call('ZINCRBY', kinds, -1, of)) <= 0 then redis.call('ZREM', kinds, of) end
end
local oldest = string.format('%.0f', now - keepMs)
for _, each in ipairs(redis.call('ZRANGE', index, '-inf', oldest, 'BYSCORE', 'LIMIT', 0, 100)) do remove(each) end

local before = redis.call('HGET', missed, kind) or '0'
redis.call('HDEL', missed, kind)
local ofKind = index .. SUFFIX.ofKind .. kind
redis.call('ZADD', index, at, id)
redis.call('ZADD', ofKind, at, id)
redis.call('HSET', texts, id, before .. ' ' .. text)
redis.call('ZINCRBY', kinds, 1, kind)
if redis.call('ZCARD', index) > most then
  local fullest = redis.call('ZREVRANGE', kinds, 0, 0)[1]
  remove(redis.call('ZRANGE', index .. SUFFIX.ofKind .. fullest, 0, 0)[1])
end
for _, key in ipairs({ index, texts, kinds, ofKind }) do redis.call('PEXPIRE', key, keepMs) end
if not redis.call('ZSCORE', index, id) then return 'old' end
if event and redis.call('EXISTS', outbox) == 1 then redis.call('XADD', outbox, '*', ENTRY.events, event) end
return 'kept'
