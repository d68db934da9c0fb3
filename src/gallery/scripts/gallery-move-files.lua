-- Moves files into one folder, all or none, and records how it ended. Running it again changes nothing, so a job that is
-- repeated after a crash cannot undo a later move.
-- Redis does not roll back: everything that can fail is read before the first write.
--
-- Keys:
--   folder       HASH  the destination
--   filesIn      ZSET  its active files
--   outcome      HASH  how the move ended
--   prefix       of the gallery's keys: those of the files and of the folders they come from are built from it
-- Arguments:
--   folderId     as text
--   keepSeconds  how long the outcome is kept
--   files        their ids as text, each once
-- Output: nothing; the outcome has `state` done or failed, `moved` (number of files), `reason` of a failure
-- (no_folder, no_files) and `missing` (ids of the files that do not exist or are in the trash, with commas)
local folder, filesIn, outcome, prefix = unpack(KEYS)
local folderId, keepSeconds, files = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
if redis.call('EXISTS', outcome) == 1 then
  return
end

local function finish(state, moved, reason, missing)
  redis.call('HSET', outcome, 'state', state, 'moved', moved, 'reason', reason, 'missing', missing)
  redis.call('EXPIRE', outcome, keepSeconds)
end

if redis.call('EXISTS', folder) == 0 then
  return finish('failed', 0, 'no_folder', '')
end

local missing = {}
local source = {}
for i, id in ipairs(files) do
  local file = redis.call('HMGET', prefix .. SUFFIX.file .. id, 'folder_id', 'deleted_at')
  if not file[1] or file[2] ~= '' then
    missing[#missing + 1] = id
  else
    source[i] = prefix .. SUFFIX.folder .. file[1] .. SUFFIX.files
    -- Fails here, before any write, when the key holds something else than a set of files.
    redis.call('ZSCORE', source[i], id)
  end
end
if #missing > 0 then
  return finish('failed', 0, 'no_files', table.concat(missing, ','))
end
redis.call('ZCARD', filesIn)

for i, id in ipairs(files) do
  redis.call('ZREM', source[i], id)
  redis.call('ZADD', filesIn, id, id)
  redis.call('HSET', prefix .. SUFFIX.file .. id, 'folder_id', folderId)
end
return finish('done', #files, '', '')
