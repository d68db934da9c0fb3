-- The end of adopting the recipients of a campaign that began before campaigns kept their states: it keeps them from now
-- on, and those that nobody had counted are counted as unknown. Of two that adopt at the same time, only one counts.
-- KEYS[1] HASH of the campaign      KEYS[2] HASH of its counts
-- ARGV[1] epoch      ARGV[2] how many are counted as unknown
-- Output: 1, or 0 when it was done before or in another epoch
local campaign = redis.call('HMGET', KEYS[1], 'epoch', 'keeps_marks')
if campaign[1] ~= ARGV[1] or campaign[2] == '1' then return 0 end
redis.call('HSET', KEYS[1], 'keeps_marks', '1')
if tonumber(ARGV[2]) > 0 then redis.call('HINCRBY', KEYS[2], 'n', ARGV[2]) end
return 1
