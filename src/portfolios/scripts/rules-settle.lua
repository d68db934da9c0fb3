#!lua flags=allow-oom
-- Records whether a message for which a person was counted has left. If it is proven not to have, the person is given back,
-- unless another message was let out to them meanwhile.
--
-- Keys:
--   budget           HASH    of the people of the last 24 hours, see rules-budget.lua
--   counts           STRING  ring: how many were counted in each period
-- Arguments:
--   people           what the keys of hashes of people begin with
--   bucketHash       selects the hash the person is in
--   personHash       hash of the person, 5 bytes as a number
--   hasLeft          whether the message is proven to have left; else it is proven not to have
--   given?           the time (ms), where it is not that of Redis
-- include rules-budget
local budget, counts = unpack(KEYS)
local people, bucketHash, personHash, hasLeft, given = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
if not given then trustedNowMs() end
local b = openBudget(budget, counts, people, timeOf(given))
local name = struct.pack('>I5', personHash)
local key, value, period = findPerson(b, bucketHash, name)
if key and hasLeft then
  redis.call('HSET', key, name, provenAt(period))
elseif key and value < 0 then
  redis.call('HSET', key, name, openAt(period))
elseif key and value > WRAP then
  redis.call('HDEL', key, name)
  addAt(counts, period, -1)
  b.used = b.used - 1
  b.isChanged = true
end
closeBudget(b)
