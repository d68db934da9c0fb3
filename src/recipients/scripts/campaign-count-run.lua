-- Counts one more run of a campaign, if it is still kept: a count without a record would never expire.
--
-- Keys:
--   campaign  HASH
-- Output: how many runs there are besides the first
local campaign = unpack(KEYS)
if redis.call('EXISTS', campaign) == 0 then return 1 end
return redis.call('HINCRBY', campaign, 'runs', 1)
