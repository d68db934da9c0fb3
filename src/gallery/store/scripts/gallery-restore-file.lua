-- Puts a file from the trash back into the folder it was in.
-- KEYS[1] HASH of the file
-- KEYS[2] ZSET of the trash
-- KEYS[3] prefix of the gallery's keys: only the file tells its folder, whose set's key is built from it
-- ARGV[1] file id
-- Output: 1, or 0 when there is no file of this id in the trash
local file = redis.call('HMGET', KEYS[1], 'folder_id', 'deleted_at')
local folder, deleted_at = file[1], file[2]
if not folder or deleted_at == '' then
  return 0
end
redis.call('ZADD', KEYS[3] .. ':folder:' .. folder .. ':files', ARGV[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'deleted_at', '')
return 1
