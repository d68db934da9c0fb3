-- Creates a hash unless there is one already, which is left as it is. It ends by itself unless it is listed in time
-- (listed-hash.lua).
--
-- Keys:
--   hash    HASH
-- Arguments:
--   fields  {field, value, ...}
--   keepMs
-- Output: 1 when it was created, else 0
local hash = unpack(KEYS)
local fields, keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
if redis.call('EXISTS', hash) == 1 then return 0 end
redis.call('HSET', hash, 'unlisted', '1', unpack(fields))
redis.call('PEXPIRE', hash, keepMs)
return 1
