#!lua flags=allow-oom
-- Moves those of the next waiting jobs that probably must not be sent behind all others, so that those that may leave
-- need not wait until they are cleared. It changes the order and nothing else: the script that clears or claims them
-- judges them properly (message-unsendable.lua), and dying after any page leaves jobs that wait.
--
-- Keys:
--   waiting    LIST, the next one last, or ZSET: waiting or prioritized jobs, BullMQ's
--   clearedBy  STRING  who clears this list: two at once would move what the other has moved
-- Arguments:
--   by         who asks
--   kept       of the next jobs, how many are passed over
--   most       jobs that are examined
--   campaigns  what the keys of the lane's campaigns begin with
--   jobs       what the keys of jobs begin with
-- Output: {examined, moved}; {-1, 0} while another caller clears this list
local waiting, clearedBy = unpack(KEYS)
local by, kept, most, campaigns, jobs = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
local SOLE_MS = 1000
-- Bytes of jobs that are read in one go: 500 common ones are 200 KB and take 4 ms.
local MOST_BYTES = 400000
-- BullMQ's score is the priority times 2^32, and a counter. Campaign messages have the priority 1, so that these come
-- after all of them and stay there.
local LAST = 2 * 0x100000000

local sole = redis.call('GET', clearedBy)
if sole and sole ~= by then return { -1, 0 } end
redis.call('SET', clearedBy, by, 'PX', SOLE_MS)
local isList = redis.call('TYPE', waiting).ok == 'list'
local now = redisNowMs()

local states = {}
local function isHeld(run)
  if states[run] == nil then states[run] = redis.call('HGET', campaigns .. run, 'state') or '' end
  return states[run] ~= 'running' and states[run] ~= 'done'
end

local function looksUnsendable(data)
  local readable, payload = pcall(cjson.decode, data)
  if not readable or type(payload) ~= 'table' then return false end
  if type(payload[PAYLOAD.until]) == 'number' and payload[PAYLOAD.until] <= now then return true end
  local run = payload[PAYLOAD.run]
  return type(run) == 'number' and isHeld(string.format('%.0f', run))
end

local names
if isList then
  names = redis.call('LRANGE', waiting, -kept - most, -kept - 1)
else
  names = redis.call('ZRANGEBYSCORE', waiting, '-inf', '(' .. LAST, 'LIMIT', kept, most)
end
local seen, moved, bytes = 0, 0, 0
for i = 1, #names do
  if bytes > MOST_BYTES then break end
  local name = isList and names[#names + 1 - i] or names[i]
  local data = redis.call('HGET', jobs .. name, JOB.data) or ''
  seen, bytes = seen + 1, bytes + #data
  if looksUnsendable(data) then
    moved = moved + 1
    if isList then
      redis.call('LREM', waiting, -1, name)
      redis.call('LPUSH', waiting, name)
    else
      redis.call('ZADD', waiting, 'XX', LAST, name)
    end
  end
end
return { seen, moved }
