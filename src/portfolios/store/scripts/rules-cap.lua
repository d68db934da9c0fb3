#!lua flags=allow-oom
-- A person gets no marketing until a time; a later one wins.
--
-- Keys:
--   cap     STRING  ms until which; ends with it
-- Arguments:
--   till    ms
local cap = unpack(KEYS)
local till = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if till <= tonumber(redis.call('GET', cap) or '0') then return end
redis.call('SET', cap, string.format('%.0f', till), 'PXAT', string.format('%.0f', till))
