-- Creates a hash unless there is one already, which is left as it is.
-- KEYS[1] HASH      ARGV field, value, ...
-- Output: 1 when it was created, else 0
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1
