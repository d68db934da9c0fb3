-- Records how a try to fetch a file ended: it is over, or due again. A file that has left the list is not put back.
--
-- Keys:
--   accounts  ZSET account -> when something of it is due (ms)
--   due       ZSET message -> when it is due (ms), of the account
--   tries     HASH message -> how often it was tried
-- Arguments:
--   account   its number, as text
--   message   `<lane>/<digest>`
--   againMs   how soon it is due again; -1: it is over
--   count     tries so far
--   backoffMs how long nothing of the account is due
--   keepMs    how long the list is kept
local accounts, due, tries = unpack(KEYS)
local account, message, againMs, count, backoffMs, keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
local now = redisNowMs()
if againMs < 0 then
  redis.call('ZREM', due, message)
  redis.call('HDEL', tries, message, PREFIX.file .. message)
elseif redis.call('ZSCORE', due, message) then
  redis.call('ZADD', due, now + againMs, message)
  redis.call('HSET', tries, message, count)
  redis.call('PEXPIRE', due, keepMs)
  redis.call('PEXPIRE', tries, keepMs)
end
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
if first[1] then
  redis.call('ZADD', accounts, math.max(now + backoffMs, tonumber(first[2])), account)
else
  redis.call('ZREM', accounts, account)
end
