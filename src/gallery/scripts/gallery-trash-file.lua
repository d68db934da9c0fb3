-- Puts an active file into the trash, or one from the trash back into its folder.
--
-- Keys:
--   file       HASH
--   trash      ZSET  files in the trash
--   prefix     of the gallery's keys: only the file tells its folder, whose set's key is built from it
-- Arguments:
--   id         of the file, as text
--   intoTrash  false: back into its folder
-- Output: 1, or 0 when there is no file of this id in the place it is taken from
local file, trash, prefix = unpack(KEYS)
local id, intoTrash = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local found = redis.call('HMGET', file, 'folder_id', 'deleted_at')
local folder, isInTrash = found[1], found[2] ~= ''
if not folder or isInTrash == intoTrash then return 0 end
local filesIn = prefix .. SUFFIX.folder .. folder .. SUFFIX.files
local from, to = filesIn, trash
if isInTrash then from, to = trash, filesIn end
redis.call('ZADD', to, id, id)
redis.call('ZREM', from, id)
local now = redis.call('TIME')
redis.call('HSET', file, 'deleted_at', intoTrash and now[1] .. string.format('%06d', now[2]) or '')
return 1
