-- Records a file whose content is in place, and counts its bytes, if there is room for it.
--
-- Keys:
--   file     HASH
--   filesIn  ZSET    active files of its folder
--   bytes    STRING  of all files of the gallery
-- Arguments:
--   id       of the file
--   size     bytes
--   most     bytes of all files; 0 is no limit
--   fields   {field, value, ...}
-- Output: 1, or 0 when there is no room
local file, filesIn, bytes = unpack(KEYS)
local id, size, most, fields = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local total = tonumber(redis.call('GET', bytes) or '0') + size
if most > 0 and total > most then return 0 end
-- Fails here, before any write, when the key holds something else than a set of files.
redis.call('ZSCORE', filesIn, id)
redis.call('HSET', file, unpack(fields))
redis.call('ZADD', filesIn, id, id)
redis.call('SET', bytes, string.format('%.0f', total))
return 1
