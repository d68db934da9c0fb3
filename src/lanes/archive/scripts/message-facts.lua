-- Reads some fields of many messages of one lane, in one command instead of hundreds.
--
-- Keys of each:
--   record   HASH   a message
-- Arguments:
--   fields   names of the fields
-- Output: for each message the values of its fields; an empty list where the key holds no record
local fields = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
local found = {}
for i = 1, #KEYS do
  local record = unpack(KEYS, 1 * i, 1 * i)
  local values = redis.pcall('HMGET', record, unpack(fields))
  found[i] = values.err and {} or values
end
return found
