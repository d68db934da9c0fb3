-- Frees a lock, unless it has run out and belongs to somebody else by now.
--
-- Keys:
--   lock    STRING
-- Arguments:
--   holder  who frees it
local lock = unpack(KEYS)
local holder = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('GET', lock) == holder then redis.call('DEL', lock) end
