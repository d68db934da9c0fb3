#!lua flags=allow-oom
-- Writes down what somebody else has said of a thing, unless something newer is known of it by their clock. Of what was said
-- at the same moment the higher rank counts, and then the greater text: so any order and any repetition end alike.
--
-- Keys:
--   record  HASH     of the thing
-- Arguments:
--   field   of the record: `<ms> <rank> <value>`
--   at      when it was said (ms)
--   rank
--   value
--   writes  {field: value}: what is written besides
--   most    a record that is not there is made, and gets at most so many fields; 0: it must be there
-- Output: 'newer' when it counts from now on, 'same' when it did before, 'older', or 'missing' without a place for it
local record = unpack(KEYS)
local field, at, rank, value, writes, most = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
local known = redis.call('HGET', record, field)
if known then
  local knownAt, knownRank, knownValue = string.match(known, '^(%d+) (%d+) (.*)$')
  knownAt, knownRank = tonumber(knownAt), tonumber(knownRank)
  if knownAt == at and knownRank == rank and knownValue == value then return 'same' end
  local isNewer = at > knownAt
  if at == knownAt then isNewer = rank > knownRank or (rank == knownRank and value > knownValue) end
  if not isNewer then return 'older' end
elseif most == 0 then
  if redis.call('EXISTS', record) == 0 then return 'missing' end
elseif redis.call('HLEN', record) >= most then
  return 'missing'
end
redis.call('HSET', record, field, string.format('%.0f %d %s', at, rank, value))
for name, text in pairs(writes) do redis.call('HSET', record, name, text) end
return 'newer'
