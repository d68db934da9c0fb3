-- Moves files into one folder, all or none, and records how it ended. Running it again changes nothing and announces
-- the same outcome, so a job that is repeated after a crash cannot undo a later move.
-- Redis does not roll back: everything that can fail is read before the first write.
-- KEYS[1] HASH of the destination folder
-- KEYS[2] ZSET of the destination's active files
-- KEYS[3] HASH of the move's outcome
-- KEYS[4] prefix of the gallery's keys: the keys of the files and of the folders they come from are built from it
-- ARGV[1] id of the destination folder
-- ARGV[2] move id
-- ARGV[3] seconds that the outcome is kept
-- ARGV[4] channel on which the end is announced
-- ARGV[5...] file ids, each once
-- Output: nothing; the outcome has `state` done or failed, `moved` (number of files), `reason` of a failure
-- (no_folder, no_files) and `missing` (ids of the files that do not exist or are in the trash, with commas)
if redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('PUBLISH', ARGV[4], ARGV[2])
  return
end

local function finish(state, moved, reason, missing)
  redis.call('HSET', KEYS[3], 'state', state, 'moved', moved, 'reason', reason, 'missing', missing)
  redis.call('EXPIRE', KEYS[3], ARGV[3])
  redis.call('PUBLISH', ARGV[4], ARGV[2])
end

if redis.call('EXISTS', KEYS[1]) == 0 then
  return finish('failed', 0, 'no_folder', '')
end

local missing = {}
local source = {}
for i = 5, #ARGV do
  local file = redis.call('HMGET', KEYS[4] .. ':file:' .. ARGV[i], 'folder_id', 'deleted_at')
  if not file[1] or file[2] ~= '' then
    missing[#missing + 1] = ARGV[i]
  else
    source[i] = KEYS[4] .. ':folder:' .. file[1] .. ':files'
    -- Fails here, before any write, when the key holds something else than a set of files.
    redis.call('ZSCORE', source[i], ARGV[i])
  end
end
if #missing > 0 then
  return finish('failed', 0, 'no_files', table.concat(missing, ','))
end
redis.call('ZCARD', KEYS[2])

for i = 5, #ARGV do
  redis.call('ZREM', source[i], ARGV[i])
  redis.call('ZADD', KEYS[2], ARGV[i], ARGV[i])
  redis.call('HSET', KEYS[4] .. ':file:' .. ARGV[i], 'folder_id', ARGV[1])
end
return finish('done', #ARGV - 4, '', '')
