-- Records a file whose content is in place, and counts its bytes, if there is room for it. A file that exists stays as it is.
--
-- Keys:
--   file      HASH
--   filesIn   ZSET    active files of its folder
--   bytes     STRING  of all files of the gallery
--   received  ZSET    `<person>/<id>` of files that people have sent
-- Arguments:
--   id        of the file
--   size      bytes
--   most      bytes of all files; 0 is no limit
--   fields    {field, value, ...}
--   people    who sent it; empty for a file that the account has uploaded
-- Output: 1, 0 when there is no room, or 2 when there was a file of this id
local file, filesIn, bytes, received = unpack(KEYS)
local id, size, most, fields, people = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
if redis.call('EXISTS', file) == 1 then return 2 end
local total = tonumber(redis.call('GET', bytes) or '0') + size
if most > 0 and total > most then return 0 end
-- Fails here, before any write, when the key holds something else than a set of files.
redis.call('ZSCORE', filesIn, id)
redis.call('HSET', file, unpack(fields))
redis.call('ZADD', filesIn, id, id)
for _, person in ipairs(people) do redis.call('ZADD', received, 0, person .. '/' .. id) end
redis.call('SET', bytes, string.format('%.0f', total))
return 1
