#!lua flags=allow-oom
-- Gives the installation its name, unless it has one: every part does so at its start, which must also end on a full Redis.
--
-- Keys:
--   installation  STRING
-- Arguments:
--   name
-- Output: 1 when it has this name now, else 0
local installation = unpack(KEYS)
local name = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
return redis.call('SETNX', installation, name)
