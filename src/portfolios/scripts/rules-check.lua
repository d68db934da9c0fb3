#!lua
-- Checks WhatsApp's own rules for messages, and counts those that may leave: capped persons, held places, the people of the last 24
-- hours. Refused when Redis is full: nothing is claimed then.
--
-- Keys:
--   budget           HASH    of the people of the last 24 hours, see rules-budget.lua
--   counts           STRING  ring: how many were counted in each period
--   held             ZSET    messages that have a place -> ms until which it counts
-- Arguments:
--   caps             what the keys of capped persons begin with
--   people           what the keys of hashes of people begin with
--   limit?           people in 24 hours; none: nobody is counted
--   forCampaigns?    how many of them campaigns may write to
--   mostHeld         places, once a message is held
--   placeMs          how long a message in flight has its place at most
--   heldMs           the same of one that is held
--   given?           the time (ms), where it is not that of Redis
-- Arguments of each:
--   message
--   names            of the person in keys of caps
--   isMarketing
--   isCampaign
--   bucketHash?      selects the hash the person is in; none: the person is not counted
--   personHash?      hash of the person, 5 bytes as a number
-- Output: of each {'ok', counted, has a place} or {'person_capped', 'portfolio_limit' or 'held', until (ms), ms until then}
-- include rules-budget
local budget, counts, held = unpack(KEYS)
local caps, people, limit, forCampaigns, mostHeld, placeMs, heldMs, given = unpack(cmsgpack.unpack(ARGV[1]), 1, 8)
local each = cmsgpack.unpack(ARGV[2])
if not given then trustedNowMs() end
local now = timeOf(given)

local capKeys, capsOf = {}, {}
for i = 1, #each do
  local names, isMarketing = each[i][2], each[i][3]
  for _, name in ipairs(isMarketing and names or {}) do
    capKeys[#capKeys + 1] = caps .. name
    capsOf[#capKeys] = i
  end
end
local cappedUntil = {}
if #capKeys > 0 then
  for k, text in ipairs(redis.call('MGET', unpack(capKeys))) do
    local i, till = capsOf[k], tonumber(text or '0')
    if till > now then cappedUntil[i] = math.max(cappedUntil[i] or 0, till) end
  end
end

-- A place that lasts longer than that of a message in flight is one of a held message.
local isHolding, places, inFlight = false, 0, 0
if redis.call('EXISTS', held) == 1 then
  redis.call('ZREMRANGEBYSCORE', held, '-inf', now)
  local ofHeld = redis.call('ZCOUNT', held, '(' .. string.format('%.0f', now + placeMs), '+inf')
  isHolding = ofHeld > 0
  places = redis.call('ZCARD', held)
  inFlight = places - ofHeld
end

local b = limit and openBudget(budget, counts, people, now, limit)
-- When one more may be counted, by limit.
local rooms = {}
local function waits(why, till) return { why, till, math.max(0, till - now) } end
local function checkProviderRules(i)
  local message, names, isMarketing, isCampaign, bucketHash, personHash = unpack(each[i], 1, 6)
  if cappedUntil[i] then return waits('person_capped', cappedUntil[i]) end
  local takesPlace = isHolding and isCampaign
  local hasPlace = takesPlace and redis.call('ZSCORE', held, message)
  -- Places of messages in flight come back within seconds.
  if takesPlace and not hasPlace and places >= mostHeld then return waits('held', now + (inFlight > 0 and 1000 or 10000)) end
  local counted = 0
  if b and bucketHash then
    local name = struct.pack('>I5', personHash)
    local key, value, period = findPerson(b, bucketHash, name)
    if key and (value < 0 or value > WRAP) then
      if period ~= b.now then
        addAt(counts, period, -1)
        b.new = b.new + 1
        rooms = {}
      end
      if writePerson(b, bucketHash, name, sharedAt(b.now)) ~= key then redis.call('HDEL', key, name) end
    elseif not key then
      local most = isCampaign and forCampaigns or limit
      if b.used >= most then
        rooms[most] = rooms[most] or roomAt(b, most)
        return waits('portfolio_limit', rooms[most])
      end
      writePerson(b, bucketHash, name, openAt(b.now))
      b.used, b.new, counted = b.used + 1, b.new + 1, 1
    end
  end
  if takesPlace and not hasPlace then
    redis.call('ZADD', held, now + placeMs, message)
    redis.call('PEXPIRE', held, heldMs)
    places, inFlight = places + 1, inFlight + 1
  end
  return { 'ok', counted, takesPlace and 1 or 0 }
end

local results = {}
for i = 1, #each do results[i] = checkProviderRules(i) end
if b then closeBudget(b) end
return results
