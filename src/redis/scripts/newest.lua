#!lua flags=allow-oom
-- Stores a report about a thing, unless a newer one by the clock of its reporter is stored. Of two reports of the same moment
-- the one of higher rank wins, then the one of greater text: neither order nor repetition matters.
--
-- Keys:
--   record  HASH     of the thing
-- Arguments:
--   field   of the record: `<ms> <rank> <value>`
--   at      when it was reported (ms)
--   rank
--   value
--   writes  {field: value}: further fields to write
--   most    a missing record is created, and gets at most so many fields; 0: it must exist
-- Output: 'newer' when it is stored, 'same' when it was stored already, 'older', or 'missing' without a place for it
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
