-- Filters messages, so that fewer records are read: leaves out those that do not match. A message without a record yet may
-- match anything.
--
-- Keys:
--   records   HASH  what the keys of the records begin with, for the slot
-- Arguments:
--   ulids
--   once?     letters of the states that match, of a message that was not repeated in doubt
--   repeated? the same of one that was
--   class?    letter
--   group?    grouping text
--   reference? the client's own text
--   run?      number of a campaign
--   code?     `code|`, what a problem begins with
-- Output: positions in `ulids` of those that may match
-- constants
local records = unpack(KEYS)
local ulids, once, repeated, class, group, reference, run, code = unpack(cmsgpack.unpack(ARGV[1]), 1, 8)
local found = {}
for place, ulid in ipairs(ulids) do
  local f = redis.call('HMGET', records .. ulid, FIELD.state, FIELD.class, FIELD.campaign, FIELD.run, FIELD.problem, FIELD.repeats,
    FIELD.reference)
  local fits
  if f[1] then
    local letters = tonumber(f[6] or '0') > 0 and repeated or once
    fits = (not letters or string.find(letters, f[1], 1, true)) and (not class or f[2] == class)
      and (not group or f[3] == group) and (not reference or f[7] == reference) and (not run or tonumber(f[4] or '') == run)
      and (not code or string.sub(f[5] or '', 1, #code) == code)
  else
    -- It waits, as a job or as a place of its campaign.
    fits = true
  end
  if fits then found[#found + 1] = place end
end
return found
