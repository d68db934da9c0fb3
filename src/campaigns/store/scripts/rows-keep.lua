-- Sets how many bytes a campaign's rows take, if there is room. Idempotent.
--
-- Keys:
--   rows   HASH  campaign id -> bytes, and `total`
-- Arguments:
--   id     of the campaign
--   bytes  0: its rows are gone
--   most   of all campaigns; 0 is no limit
--   insteadOf  change it only if these are its bytes now; '' changes it in any case
-- Output: {1, or 0 when there is no room; bytes of all campaigns; bytes that this one had before}
local rows = unpack(KEYS)
local id, bytes, most, insteadOf = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local before = tonumber(redis.call('HGET', rows, id) or '0')
local total = tonumber(redis.call('HGET', rows, 'total') or '0')
if insteadOf ~= '' and insteadOf ~= before then return { 1, total, before } end
local after = total - before + bytes
if most > 0 and after > most and bytes > before then return { 0, total, before } end
if bytes == 0 then
  redis.call('HDEL', rows, id)
else
  redis.call('HSET', rows, id, string.format('%.0f', bytes))
end
redis.call('HSET', rows, 'total', string.format('%.0f', after))
return { 1, after, before }
