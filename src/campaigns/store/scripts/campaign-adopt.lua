-- Marks the recipients of a campaign that began before campaigns kept the states of their recipients, from the records
-- of their messages. What is marked already stays.
-- KEYS[1] STRING of the campaign's marks
-- ARGV[1] what the keys of the lane's records begin with       ARGV[2] place of the first recipient
-- ARGV[3] mark of a message without a record ('' = none)       ARGV[4...] ulids, in the order of the list
local MARKS = 'qclsdrfxkn'
for i = 4, #ARGV do
  local place = '#' .. (tonumber(ARGV[2]) + i - 4)
  local letter = redis.call('HGET', ARGV[1] .. ARGV[i], 's')
  local mark = letter and string.find(MARKS, letter, 1, true) or ARGV[3]
  if mark ~= '' and redis.call('BITFIELD', KEYS[1], 'GET', 'u4', place)[1] == 0 then
    redis.call('BITFIELD', KEYS[1], 'SET', 'u4', place, mark)
  end
end
return 'OK'
