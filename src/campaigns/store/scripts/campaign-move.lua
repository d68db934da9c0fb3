-- Moves a campaign to another state, if the one it is in allows it. Running it twice changes nothing the second time,
-- unless the move leads back to a state it starts from.
-- KEYS[1] HASH of the campaign      KEYS[2] HASH number -> state of the lane's campaigns that a worker looks after
-- KEYS[3] HASH of the campaign's counts      KEYS[4] STRING of the states of its recipients
-- ARGV[1] number      ARGV[2] new state      ARGV[3] states it is allowed from, `,draft,ready,`
-- ARGV[4] epoch it must be in ('' = any)      ARGV[5] '1': a new epoch begins, which ends whatever works for the old one
-- ARGV[6] how many recipients are fed once more      ARGV[7] ms that an ended campaign is kept
-- ARGV[8...] field, value, ...: what is written besides; the value '@now' is the time
-- Output: {'moved' or 'refused', state, epoch}; {'missing'} when there is no campaign
local campaign = redis.call('HMGET', KEYS[1], 'state', 'epoch', 'next')
local state, epoch = campaign[1], tonumber(campaign[2] or '0')
if not state then return { 'missing' } end
local isAllowed = string.find(ARGV[3], ',' .. state .. ',', 1, true)
if not isAllowed or (ARGV[4] ~= '' and tonumber(ARGV[4]) ~= epoch) then
  return { 'refused', state, epoch }
end

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
if ARGV[5] == '1' then epoch = epoch + 1 end
local fields = { 'state', ARGV[2], 'epoch', epoch, 'beat', now }
if tonumber(ARGV[6]) > 0 then
  fields[#fields + 1] = 'next'
  fields[#fields + 1] = math.max(0, tonumber(campaign[3] or '0') - tonumber(ARGV[6]))
end
for i = 8, #ARGV, 2 do
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = ARGV[i + 1] == '@now' and now or ARGV[i + 1]
end
redis.call('HSET', KEYS[1], unpack(fields))

local to = ARGV[2]
local isAwake = to == 'running' or to == 'scheduled' or to == 'checking'
  or (to == 'ready' and redis.call('HGET', KEYS[1], 'starts_itself') == '1')
if isAwake then
  redis.call('HSET', KEYS[2], ARGV[1], to)
else
  redis.call('HDEL', KEYS[2], ARGV[1])
end
if to == 'done' or to == 'cancelled' then
  redis.call('PEXPIRE', KEYS[1], ARGV[7])
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
  redis.call('PEXPIRE', KEYS[4], ARGV[7])
end
return { 'moved', to, epoch }
