-- Records how many preflights of a campaign have begun without an end, unless another check of it has begun since.
-- Idempotent.
--
-- Keys:
--   campaign  HASH  the campaign
-- Arguments:
--   epoch     in which it is checked
--   starts
local campaign = unpack(KEYS)
local epoch, starts = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
if tonumber(redis.call('HGET', campaign, 'epoch')) == epoch then
  redis.call('HSET', campaign, 'preflight_starts', starts)
end
