#!lua flags=allow-oom
-- Names the installation, unless it has a name. Every part does so at its start, which must succeed on a full Redis too.
--
-- Keys:
--   installation  STRING
-- Arguments:
--   name
-- Output: 1 when it has this name now, else 0
local installation = unpack(KEYS)
local name = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
return redis.call('SETNX', installation, name)
