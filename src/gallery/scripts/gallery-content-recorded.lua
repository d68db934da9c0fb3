-- Removes content from the list of content that may have no file, unless it was listed again since.
--
-- Keys:
--   withoutFile  ZSET  content -> since when (ms)
-- Arguments:
--   hash         of the content
--   atMs         the time that it must have
local withoutFile = unpack(KEYS)
local hash, atMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
if tonumber(redis.call('ZSCORE', withoutFile, hash) or '') == atMs then redis.call('ZREM', withoutFile, hash) end
