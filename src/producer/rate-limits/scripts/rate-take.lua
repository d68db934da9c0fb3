-- Takes leases on requests out of the buckets of keys, accounts and addresses, as many as are there. A bucket holds
-- what its rate brings in a second; one that was not asked for longer is full, and need not be kept.
--
-- Keys of each:
--   bucket  STRING  `<tokens> <µs>`: what was in it at that time of this clock
-- Arguments of each:
--   rate    requests a second
--   want    how many are asked for
-- Output: for each {granted, left, ms until the next one}
local each = cmsgpack.unpack(ARGV[2])
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local out = {}
for i = 1, #each do
  local bucket = unpack(KEYS, 1 * i, 1 * i)
  local rate, want = unpack(each[i], 1, 2)
  local tokens = rate
  local kept = redis.call('GET', bucket)
  if kept then
    local held, at = string.match(kept, '^(%S+) (%d+)$')
    -- A clock that was set back brings nothing, and does not stop the bucket either.
    tokens = math.min(rate, tonumber(held) + math.max(0, now - tonumber(at)) * rate / 1000000)
    if tonumber(at) > now then
      redis.call('SET', bucket, string.format('%.6f %.0f', tokens, now), 'PX', 2000)
    end
  end
  local granted = math.min(want, math.floor(tokens))
  if granted > 0 then
    tokens = tokens - granted
    redis.call('SET', bucket, string.format('%.6f %.0f', tokens, now), 'PX', 2000)
  end
  local left = math.floor(tokens)
  out[i] = { granted, left, left > 0 and 0 or math.ceil((1 - tokens) * 1000 / rate) }
end
return out
