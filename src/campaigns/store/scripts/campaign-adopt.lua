-- Marks the recipients of a campaign that began before campaigns kept the states of their recipients, from the records
-- of their messages. What is marked already stays. Does nothing once another epoch has begun: of two that adopt at the
-- same time, the earlier must not mark anything behind the count of the later (campaign-adopted.lua).
--
-- Keys:
--   marks    STRING  the states of the campaign's recipients
--   campaign HASH    the campaign
-- Arguments:
--   records  what the keys of the lane's records begin with
--   from     place of the first recipient
--   notKept? mark of a message without a record
--   epoch    in which it runs
--   ulids    in the order of the list
-- constants
local marks, campaign = unpack(KEYS)
local records, from, notKept, epoch, ulids = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
if tonumber(redis.call('HGET', campaign, 'epoch')) ~= epoch then return false end
for i, ulid in ipairs(ulids) do
  local place = '#' .. (from + i - 1)
  local letter = redis.call('HGET', records .. ulid, 's')
  local mark = letter and string.find(MARKS, letter, 1, true) or notKept
  if mark and redis.call('BITFIELD', marks, 'GET', 'u4', place)[1] == 0 then
    redis.call('BITFIELD', marks, 'SET', 'u4', place, mark)
  end
end
return 'OK'
