-- Creates a hash unless there is one already, which is left as it is.
--
-- Keys:
--   hash    HASH
-- Arguments:
--   fields  {field, value, ...}
-- Output: 1 when it was created, else 0
local hash = unpack(KEYS)
local fields = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('EXISTS', hash) == 1 then return 0 end
redis.call('HSET', hash, unpack(fields))
return 1
