-- Puts the file of a received message on the list of those to be fetched, unless it is there already.
--
-- Keys:
--   accounts  ZSET account -> when something of it is due (ms)
--   due       ZSET message -> when it is due (ms), of the account
-- Arguments:
--   account   its number, as text
--   message   `<lane>/<digest>`
--   most      messages of one account
--   keepMs    how long the list is kept
-- Output: 1, or 0 when the account has as many as it may
local accounts, due = unpack(KEYS)
local account, message, most, keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
if redis.call('ZSCORE', due, message) then return 1 end
if redis.call('ZCARD', due) >= most then return 0 end
local now = redisNowMs()
redis.call('ZADD', due, now, message)
redis.call('PEXPIRE', due, keepMs)
redis.call('ZADD', accounts, 'LT', now, account)
return 1
