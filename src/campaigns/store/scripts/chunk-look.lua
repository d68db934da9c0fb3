#!lua flags=no-writes
-- One look at the recipients of a chunk.
--
-- Keys:
--   marks  STRING  of the campaign: half a byte per recipient, 0 for one whose message was never claimed
-- Arguments:
--   from   place of the first recipient
--   jobs   what the keys of their jobs begin with
--   ulids  of their messages, in the order of the list
-- Output: a letter for each: `w` waits, `t` has a mark or a job, `d` its job is a dead letter
local marks = unpack(KEYS)
local from, jobs, ulids = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local first = math.floor(from / 2)
local bytes = redis.call('GETRANGE', marks, first, math.floor((from + #ulids - 1) / 2))
local letters, unmarked = {}, {}
for i, ulid in ipairs(ulids) do
  local place = from + i - 1
  local byte = string.byte(bytes, math.floor(place / 2) - first + 1) or 0
  local mark = place % 2 == 0 and math.floor(byte / 16) or byte % 16
  letters[i] = mark > 0 and 't' or 'w'
  if mark == 0 then unmarked[#unmarked + 1] = jobs .. ulid end
end
-- Mostly none has a job of its own, and one question tells it of all.
if #unmarked > 0 and redis.call('EXISTS', unpack(unmarked)) > 0 then
  for i, ulid in ipairs(ulids) do
    local job = letters[i] == 'w' and redis.call('HMGET', jobs .. ulid, 'name', 'failedReason')
    if job then letters[i] = job[2] and 'd' or job[1] and 't' or 'w' end
  end
end
return table.concat(letters)
