-- Whether an account has listeners for its events, and since when it has none.
--
-- Keys:
--   endpoints  ZSET  endpoints of the account
--   listening  HASH  when events were last pulled, and since when there is no listener (ms)
-- Arguments:
--   now          ms
--   retentionMs  a pull counts as a listener for so long
--   lingerMs     listening is over after so long without a listener
--   forget       deletes the state when it is over
-- Output: 'wanted', 'lingers' or 'over'
local endpoints, listening = unpack(KEYS)
local now, retentionMs, lingerMs, forget = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local found = redis.call('HMGET', listening, 'pulled_at', 'nobody_since')
if redis.call('ZCARD', endpoints) > 0 or tonumber(found[1] or 0) > now - retentionMs then
  redis.call('HDEL', listening, 'nobody_since')
  return 'wanted'
end
if not found[2] then
  redis.call('HSET', listening, 'nobody_since', string.format('%.0f', now))
  return 'lingers'
end
if tonumber(found[2]) >= now - lingerMs then return 'lingers' end
if forget then redis.call('DEL', listening) end
return 'over'
