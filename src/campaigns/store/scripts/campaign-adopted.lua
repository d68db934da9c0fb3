-- The end of adopting the recipients of a campaign that began before campaigns kept their states: it keeps them from now
-- on, and those that nobody had counted are counted as unknown. Of two that adopt at the same time, only one counts.
--
-- Keys:
--   campaign  HASH  the campaign
--   counts    HASH  its counts
-- Arguments:
--   epoch     in which it runs
--   uncounted how many are counted as unknown
-- Output: 1, or 0 when it was done before or in another epoch
local campaign, counts = unpack(KEYS)
local epoch, uncounted = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local found = redis.call('HMGET', campaign, 'epoch', 'keeps_marks')
if tonumber(found[1]) ~= epoch or found[2] == '1' then return 0 end
redis.call('HSET', campaign, 'keeps_marks', '1')
if uncounted > 0 then redis.call('HINCRBY', counts, 'n', uncounted) end
return 1
