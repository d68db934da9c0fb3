#!lua flags=no-writes
-- Reads what is kept of names.
--
-- Keys:
--   size     HASH  buckets: how many hashes there are; names: how many names are in them
-- Arguments:
--   buckets  what the keys of the hashes begin with
--   hashes   of all names
-- Output: nothing where nobody has two names; else of each name what is kept, in hexadecimal digits, or an empty text
-- include names-buckets
local size = unpack(KEYS)
local buckets, hashes = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local n = tonumber(redis.call('HGET', size, 'buckets') or '0')
if n == 0 then return {} end
local layout = layoutOf(n)
-- Made as they are met: most calls find nothing.
local hex = setmetatable({}, { __index = function(known, byte)
  known[byte] = string.format('%02x', byte:byte())
  return known[byte]
end })
local found = {}
for i, h in ipairs(hashes) do
  local place, field = placeOf(h, layout)
  local text = redis.call('HGET', buckets .. place, field)
  found[i] = text and text:gsub('.', hex) or ''
end
return found
