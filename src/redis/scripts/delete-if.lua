#!lua flags=allow-oom
-- Deletes a key, unless it has another value by now.
--
-- Keys:
--   key    STRING
-- Arguments:
--   value  that it must have
-- Output: 1 if it was deleted.
local key = unpack(KEYS)
local value = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('GET', key) ~= value then return 0 end
return redis.call('DEL', key)
