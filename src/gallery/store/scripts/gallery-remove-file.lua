-- Removes the record of a file that has been in the trash for long enough, and its bytes from the count.
--
-- Keys:
--   file    HASH
--   trash   ZSET    files in the trash
--   bytes   STRING  of all files of the gallery
-- Arguments:
--   id      of the file
--   before  it went into the trash before this time (µs)
-- Output: 1, or 0 when there is no such file, or it was restored or put there anew meanwhile
local file, trash, bytes = unpack(KEYS)
local id, before = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local found = redis.call('HMGET', file, 'deleted_at', 'size')
if not found[1] or found[1] == '' or tonumber(found[1]) >= tonumber(before) then return 0 end
redis.call('DEL', file)
redis.call('ZREM', trash, id)
local total = redis.call('GET', bytes)
if total then
  redis.call('SET', bytes, string.format('%.0f', math.max(0, tonumber(total) - tonumber(found[2] or '0'))))
end
return 1
