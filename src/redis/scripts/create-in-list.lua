-- Creates a hash and lists it. Whichever of both exists already is left as it is.
--
-- Keys:
--   hash    HASH
--   list    ZSET  where it is found
-- Arguments:
--   fields  {field, value, ...}
--   name    of the hash in the list
--   score
local hash, list = unpack(KEYS)
local fields, name, score = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
if redis.call('EXISTS', hash) == 0 then redis.call('HSET', hash, unpack(fields)) end
redis.call('ZADD', list, 'NX', score, name)
