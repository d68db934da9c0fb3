-- Puts a file from the trash back into the folder it was in.
--
-- Keys:
--   file    HASH
--   trash   ZSET  files in the trash
--   prefix  of the gallery's keys: only the file tells its folder, whose set's key is built from it
-- Arguments:
--   id      of the file, as text
-- Output: 1, or 0 when there is no file of this id in the trash
local file, trash, prefix = unpack(KEYS)
local id = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
local found = redis.call('HMGET', file, 'folder_id', 'deleted_at')
local folder, deleted_at = found[1], found[2]
if not folder or deleted_at == '' then
  return 0
end
redis.call('ZADD', prefix .. ':folder:' .. folder .. ':files', id, id)
redis.call('ZREM', trash, id)
redis.call('HSET', file, 'deleted_at', '')
return 1
