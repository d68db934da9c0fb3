-- The daily limit of a portfolio: the people to whom it has written first in the last 24 hours. Included by the scripts beside this file.
--
-- A person is counted in a period of 10 s. They are in one of many small hashes, which Redis stores as a list of bytes: the field is 5
-- bytes of their hash, the value the period (modulo WRAP, from 1). WRAP is added to it until a message is proven to have left; it is
-- negative if another message has been let out meanwhile. Until then the time of the first message is unknown: each one that is let out
-- counts them from then on. The count of each period is in a ring of 3 bytes each.
--
-- A period is freed 10 to 20 s after its 24 hours: a request leaves up to 5 s after its person is counted, so that
-- WhatsApp may count them that much later.
local PERIOD_MS, LIVE, RING, BYTES, WRAP = 10000, 8642, 9216, 3, 32767
-- A clock that was set back, or that of another server: what was counted so many periods ahead still counts.
local AHEAD = 360
local A_BUCKET = 80
local KEPT_MS = 25 * 3600 * 1000
-- A hash that is written to is tidied this often: no value in it is older than two of these and KEPT_MS, so none is confused with one
-- that is WRAP periods younger.
local TIDY = 1080

local function timeOf(given)
  if given then return given end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function countAt(counts, period)
  local at = period % RING * BYTES
  local text = redis.call('GETRANGE', counts, at, at + BYTES - 1)
  return #text == BYTES and struct.unpack('>I3', text) or 0
end

local function addAt(counts, period, n)
  redis.call('SETRANGE', counts, period % RING * BYTES, struct.pack('>I3', math.max(0, countAt(counts, period) + n)))
end

-- Calls look(period, count) with each non-empty period after `from` up to `to`, until it returns true.
local function eachPeriod(counts, from, to, look)
  local ring = to > from and redis.call('GET', counts) or ''
  for period = from + 1, to do
    local at = period % RING * BYTES
    if at + BYTES <= #ring then
      local n = struct.unpack('>I3', ring, at + 1)
      if n > 0 and look(period, n) then return end
    end
  end
end

-- The budget at this time; people whose day is over are freed. `limit`: how many people the hashes must hold; nil keeps their number.
local function openBudget(budget, counts, people, now, limit)
  local found = redis.call('HMGET', budget, 'used', 'freed', 'buckets', 'former')
  local period = math.floor(now / PERIOD_MS)
  local b = {
    budget = budget, counts = counts, people = people, now = period,
    used = tonumber(found[1] or '0'), freed = tonumber(found[2] or period - LIVE),
    buckets = tonumber(found[3] or '0'), former = {}, new = 0,
  }
  local was = { used = b.used, freed = b.freed, buckets = b.buckets }
  local freed = math.max(b.freed, period - LIVE)
  if b.used > 0 and freed - b.freed > RING then
    redis.call('DEL', counts)
    b.used = 0
  elseif b.used > 0 then
    eachPeriod(counts, b.freed, freed, function(each, n)
      b.used = math.max(0, b.used - n)
      redis.call('SETRANGE', counts, each % RING * BYTES, '\0\0\0')
    end)
  end
  b.freed = freed
  b.now = math.max(period, freed + 1)
  -- People are still found under former numbers of hashes, until the last of them is freed.
  for n, till in string.gmatch(found[4] or '', '(%d+):(%d+)') do
    if tonumber(till) > freed then b.former[#b.former + 1] = { n = tonumber(n), till = tonumber(till) } end
  end
  local wanted = limit and math.max(1, math.ceil(limit / A_BUCKET)) or b.buckets
  if b.used == 0 then
    b.former, b.buckets = {}, wanted
  elseif wanted > b.buckets then
    -- At least twice as many, so that there are never many former ones.
    b.former[#b.former + 1] = { n = b.buckets, till = b.now }
    b.buckets = math.max(wanted, 2 * b.buckets)
  end
  b.isChanged = was.used ~= b.used or was.freed ~= b.freed or was.buckets ~= b.buckets
  return b
end

local function closeBudget(b)
  if b.new ~= 0 then addAt(b.counts, b.now, b.new) end
  if not b.isChanged and b.new == 0 then return end
  local former = {}
  for i, each in ipairs(b.former) do former[i] = each.n .. ':' .. each.till end
  redis.call('HSET', b.budget, 'used', b.used, 'freed', b.freed, 'buckets', b.buckets, 'former', table.concat(former, ' '))
  redis.call('PEXPIRE', b.budget, KEPT_MS)
  redis.call('PEXPIRE', b.counts, KEPT_MS)
end

local function periodOf(b, value)
  local age = (b.now - ((math.abs(value) - 1) % WRAP)) % WRAP
  if age > WRAP - AHEAD then age = age - WRAP end
  return b.now - age
end

local function bucketOf(b, n, bucketHash)
  return b.people .. n .. '.' .. bucketHash % n
end

-- Where a person is counted: the hash, the value in it, and the period; nil if they are not.
local function findPerson(b, bucketHash, name)
  if b.used + b.new == 0 then return end
  local function at(n)
    local key = bucketOf(b, n, bucketHash)
    local value = tonumber(redis.call('HGET', key, name) or nil)
    if value and periodOf(b, value) > b.freed then return key, value, periodOf(b, value) end
  end
  local key, value, period = at(b.buckets)
  for i = #b.former, 1, -1 do
    if key then break end
    key, value, period = at(b.former[i].n)
  end
  return key, value, period
end

local function tidy(b, key)
  local stored, gone = redis.call('HGETALL', key), {}
  for i = 1, #stored, 2 do
    if periodOf(b, tonumber(stored[i + 1])) <= b.freed then gone[#gone + 1] = stored[i] end
  end
  if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
end

-- The value of a person whose message may not have left, of one to whom another was let out meanwhile, and of one who was written to.
local function openAt(period) return WRAP + period % WRAP + 1 end
local function sharedAt(period) return -(period % WRAP + 1) end
local function provenAt(period) return period % WRAP + 1 end

-- Counts a person in the current period, and returns the hash.
local function writePerson(b, bucketHash, name, value)
  local key, now = bucketOf(b, b.buckets, bucketHash), provenAt(b.now)
  local tidied = tonumber(redis.call('HGET', key, PEOPLE.tidied) or nil)
  if tidied and b.now - periodOf(b, tidied) >= TIDY then
    tidy(b, key)
    tidied = nil
  end
  redis.call('HSET', key, name, value)
  if not tidied then redis.call('HSET', key, PEOPLE.tidied, now) end
  redis.call('PEXPIRE', key, KEPT_MS)
  return key
end

-- When fewer than `most` people will be counted (ms), where there are as many now.
local function roomAt(b, most)
  local needed, last = b.used - most + 1, b.now
  eachPeriod(b.counts, b.freed, b.now, function(period, n)
    needed, last = needed - n, period
    return needed <= 0
  end)
  return (needed <= 0 and last or b.now) * PERIOD_MS + LIVE * PERIOD_MS
end
