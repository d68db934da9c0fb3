-- Puts an active file into the trash, or one from the trash back into its folder.
--
-- Keys:
--   file       HASH
--   trash      ZSET  files in the trash
--   prefix     of the gallery's keys, to build that of the folder's set: only the file's record names its folder
-- Arguments:
--   id         of the file, as text
--   intoTrash  false: back into its folder
-- Output: 1, or 0 when no file of this id is where it is to be taken from
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
