#!lua flags=allow-oom
-- Takes or prolongs a lease.
--
-- Keys:
--   lease    STRING  name of its holder
-- Arguments:
--   holder   who asks
--   ms       how long the lease lasts unless it is prolonged
--   mayTake  whether a lease that nobody holds is taken
-- Output: 1 when the holder has it now, else 0
local lease = unpack(KEYS)
local holder, ms, mayTake = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local held = redis.call('GET', lease)
if held ~= holder and (held or not mayTake) then return 0 end
redis.call('SET', lease, holder, 'PX', ms)
return 1
