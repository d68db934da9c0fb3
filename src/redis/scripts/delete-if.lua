#!lua flags=allow-oom
-- Deletes a key, unless it has another value by now.
--
-- Keys:
--   key    STRING
-- Arguments:
--   value  that it must have
local key = unpack(KEYS)
local value = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('GET', key) == value then redis.call('DEL', key) end
