#!lua flags=no-writes
-- Reads the stored entries of names.
--
-- Keys:
--   size     HASH  buckets: how many there are; names: how many names are in them
-- Arguments:
--   buckets  what the keys of the buckets begin with
--   digests  of all names
--   soonMs?  whether to report that one of their buckets expires within that time
-- Output: nothing where nobody has two names; else of each name what is kept, in hexadecimal digits, or an empty text; and
-- `soon` where a bucket expires soon, or an empty text
-- include names-buckets
local size = unpack(KEYS)
local buckets, digests, soonMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local n = tonumber(redis.call('HGET', size, 'buckets') or '0')
if n == 0 then return {} end
local layout = layoutOf(n)
-- Filled as needed: most calls find nothing.
local hex = setmetatable({}, { __index = function(known, byte)
  known[byte] = string.format('%02x', byte:byte())
  return known[byte]
end })
local found, soon = {}, ''
for i, digest in ipairs(digests) do
  local bucket, field = bucketOf(digest, layout)
  local text = redis.call('HGET', buckets .. bucket, field)
  found[i] = text and text:gsub('.', hex) or ''
  if text and soonMs and redis.call('PTTL', buckets .. bucket) < soonMs then soon = 'soon' end
end
found[#found + 1] = soon
return found
