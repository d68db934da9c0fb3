#!lua flags=allow-oom
-- Gives back what was counted for a message that is proven not to have left. Where another message to the person has
-- relied on their being counted, they are counted from now on instead: it may have left at any time since.
--
-- Keys:
--   budget           HASH    of the people of the last 24 hours, see rules-budget.lua
--   counts           STRING  ring: how many were counted in each period
-- Arguments:
--   people           what the keys of hashes of people begin with
--   place            which hash the person is in
--   person           hash of the person, 5 bytes as a number
--   given?           the time (ms), where it is not that of Redis
-- include rules-budget
local budget, counts = unpack(KEYS)
local people, place, person, given = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local b = openBudget(budget, counts, people, timeOf(given))
local name = struct.pack('>I5', person)
local key, value, period = findPerson(b, place, name)
if key then
  redis.call('HDEL', key, name)
  addAt(counts, period, -1)
  if value < 0 then
    writePerson(b, place, name, 1)
    b.new = 1
  else
    b.used = b.used - 1
    b.isChanged = true
  end
end
closeBudget(b)
