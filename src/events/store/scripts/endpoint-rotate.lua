-- Replaces the secrets of an endpoint if they are still those expected: it may have been rotated, resealed or removed.
--
-- Keys:
--   endpoint  HASH  the endpoint
-- Arguments:
--   secret     the one that it must have
--   olds       the former ones that it must have
--   newSecret
--   newOlds
-- Output: 1 when they were replaced, else 0
local endpoint = unpack(KEYS)
local secret, olds, newSecret, newOlds = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local found = redis.call('HMGET', endpoint, 'secret', 'old_secrets')
if found[1] ~= secret or (found[2] or '') ~= olds then return 0 end
redis.call('HSET', endpoint, 'secret', newSecret, 'old_secrets', newOlds)
return 1
