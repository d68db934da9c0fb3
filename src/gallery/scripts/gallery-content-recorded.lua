-- Takes content off the list of what perhaps no file has, unless it was put there anew.
--
-- Keys:
--   withoutFile  ZSET  content -> since when (ms)
-- Arguments:
--   hash         of the content
--   atMs         the time that it must have
local withoutFile = unpack(KEYS)
local hash, atMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
if tonumber(redis.call('ZSCORE', withoutFile, hash) or '') == atMs then redis.call('ZREM', withoutFile, hash) end
