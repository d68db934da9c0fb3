-- Replaces the value of a field if it is still the expected one. An empty value stands for no field.
--
-- Keys:
--   hash    HASH
-- Arguments:
--   field
--   before  the value that it must have
--   after   the value that it gets
-- Output: 1 when it was replaced, else 0
local hash = unpack(KEYS)
local field, before, after = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
if (redis.call('HGET', hash, field) or '') ~= before then return 0 end
if after == '' then
  redis.call('HDEL', hash, field)
else
  redis.call('HSET', hash, field, after)
end
return 1
