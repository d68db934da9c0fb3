#!lua flags=allow-oom
-- Caps a person for a while; the latest end wins.
--
-- Keys:
--   cap     STRING  ms until which; ends with it
--   active  STRING  there while any person is capped or any message held
-- Arguments:
--   forMs
--   at?     when it began (ms); now, if that is unknown or in the future
--   given?  the time (ms), where it is not that of Redis
-- Output: until when this one lasts (ms)
local cap, active = unpack(KEYS)
local forMs, at, given = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local now = given or redisNowMs()
local till = math.min(at or now, now) + forMs
local text = string.format('%.0f', till)
if till > now and till > tonumber(redis.call('GET', cap) or '0') then redis.call('SET', cap, text, 'PXAT', text) end
if till > redis.call('PEXPIRETIME', active) then redis.call('SET', active, '', 'PXAT', text) end
return till
