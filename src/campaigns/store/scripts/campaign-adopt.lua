-- Marks the recipients of a campaign that began before campaigns kept the states of their recipients, from the records
-- of their messages. What is marked already stays. Does nothing once another epoch has begun: of two that adopt at the
-- same time, the earlier must not mark anything behind the count of the later (campaign-adopted.lua).
-- KEYS[1] STRING of the campaign's marks      KEYS[2] HASH of the campaign
-- ARGV[1] what the keys of the lane's records begin with       ARGV[2] place of the first recipient
-- ARGV[3] mark of a message without a record ('' = none)       ARGV[4] epoch
-- ARGV[5...] ulids, in the order of the list
local MARKS = 'qclsdrfxkn'
if redis.call('HGET', KEYS[2], 'epoch') ~= ARGV[4] then return false end
for i = 5, #ARGV do
  local place = '#' .. (tonumber(ARGV[2]) + i - 5)
  local letter = redis.call('HGET', ARGV[1] .. ARGV[i], 's')
  local mark = letter and string.find(MARKS, letter, 1, true) or ARGV[3]
  if mark ~= '' and redis.call('BITFIELD', KEYS[1], 'GET', 'u4', place)[1] == 0 then
    redis.call('BITFIELD', KEYS[1], 'SET', 'u4', place, mark)
  end
end
return 'OK'
