-- Removes the record of a file and subtracts its bytes from the count; with `before`, only of a file in the trash.
--
-- Keys:
--   file      HASH
--   trash     ZSET    files in the trash
--   bytes     STRING  of all files of the gallery
--   received  ZSET    `<person>/<id>` of files that people have sent
--   prefix    of the gallery's keys, to build that of the folder's set: only the file's record names its folder
-- Arguments:
--   id        of the file
--   before?   only if it went into the trash before this time (µs)
-- Output: 1, or 0 when there is no such file, or it was restored or put into the trash anew meanwhile
local file, trash, bytes, received, prefix = unpack(KEYS)
local id, before = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local found = redis.call('HMGET', file, 'deleted_at', 'size', 'folder_id', 'people')
if not found[1] then return 0 end
if before and (found[1] == '' or tonumber(found[1]) >= tonumber(before)) then return 0 end
redis.call('DEL', file)
redis.call('ZREM', trash, id)
redis.call('ZREM', prefix .. SUFFIX.folder .. found[3] .. SUFFIX.files, id)
for person in string.gmatch(found[4] or '', '%S+') do redis.call('ZREM', received, person .. '/' .. id) end
local total = redis.call('GET', bytes)
if total then
  redis.call('SET', bytes, string.format('%.0f', math.max(0, tonumber(total) - tonumber(found[2] or '0'))))
end
return 1
