#!lua
-- Applies a change of opt-outs by its own time: idempotent and order-independent. Stores the latest stop of each source, and the latest
-- start of each person. A stop is in force unless it is older than that start. An erasure moves both to the HMAC of the person. A join
-- merges what names of one person have. Refused when Redis is full, or clients could fill it beyond its limit; WhatsApp repeats its
-- reports, and refuses the next message to such a person as well.
--
-- Keys:
--   optOuts  ZSET  person -> since when they want none (ms)
--   erased   ZSET  the same of erased people, by HMAC
--   sources  HASH  person or HMAC -> JSON {source: [since when, latest time]} (ms)
--   ends     ZSET  person or HMAC -> latest start; with the prefix PREFIX.provider, the latest start that the provider reported
-- Arguments:
--   intent     stop, start, erase or join
--   people     names; of a join, those of one person
--   source   who reports it; a start of the provider ends what the provider stopped, any other one ends all
--   hmacs?   their HMACs, if the account has a key for that
--   at?      time of the change (ms); without it now, after everything known
--   forms?   where a number has several: of each name all of its forms, {name, hmac?}, itself the first
-- Output: names for which something has changed; of an erasure, names of which something is kept but that have no HMAC yet
local optOuts, erased, sources, ends = unpack(KEYS)
local intent, people, source, hmacs, at, forms = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)

-- How far the clocks of Redis and of WhatsApp may be apart.
local APART = 60 * 1000
-- WhatsApp repeats a report for 7 days. Starts older than this are dropped.
local KEPT = 8 * 24 * 3600 * 1000

local now = redisNowMs()
local changedAt = at
-- A time in the future counts as now.
if not changedAt or changedAt > now + APART then changedAt = now end
-- WhatsApp reports whole seconds; of two reports in one second the stop wins.
local latest = changedAt % 1000 == 0 and changedAt ~= now and changedAt + 999 or changedAt
local ended = at and changedAt or now - APART
local function text(ms) return string.format('%.0f', ms) end

-- If the times of somebody on the list cannot be read, only the score is known.
local function timesOf(list, name)
  local isRead, times = pcall(cjson.decode, redis.call('HGET', sources, name) or '')
  if isRead and type(times) == 'table' then return times end
  local since = tonumber(redis.call('ZSCORE', list, name) or '')
  return since and { [SOURCE.http] = { since, since } } or {}
end

local function endOf(of, person, hmac)
  local own = redis.call('ZSCORE', ends, of .. person)
  local ofHmac = hmac and redis.call('ZSCORE', ends, of .. hmac)
  return math.max(tonumber(own or '-1'), tonumber(ofHmac or '-1'))
end

local function noteEnd(name, ms)
  redis.call('ZADD', ends, 'GT', text(ms), name)
  redis.call('PEXPIRE', ends, KEPT)
end

-- Adds the second times to the first; both may have the same source.
local function join(times, others)
  for by, other in pairs(others) do
    local own = times[by] or other
    times[by] = { math.min(own[1], other[1]), math.max(own[2], other[2]) }
  end
end

local function keep(list, name, times)
  local since
  for _, own in pairs(times) do since = math.min(since or own[1], own[1]) end
  if since then
    redis.call('HSET', sources, name, cjson.encode(times))
    redis.call('ZADD', list, text(since), name)
  else
    redis.call('HDEL', sources, name)
    redis.call('ZREM', list, name)
  end
end

-- Moves what is stored under one form of a number to another one.
local function moveTimes(list, from, to)
  if not redis.call('ZSCORE', list, from) then return end
  local times = timesOf(list, to)
  join(times, timesOf(list, from))
  keep(list, to, times)
  keep(list, from, {})
end
local function moveEnds(from, to)
  for _, of in ipairs({ '', PREFIX.provider }) do
    local ms = redis.call('ZSCORE', ends, of .. from)
    if ms then noteEnd(of .. to, tonumber(ms)) end
    redis.call('ZREM', ends, of .. from)
  end
end
-- A number is stored under the form that is on the list already, else under the given one.
for i, all in ipairs(forms or {}) do
  local main = all[1]
  for _, form in ipairs(all) do
    if redis.call('ZSCORE', optOuts, form.name) then
      main = form
      break
    end
  end
  for _, form in ipairs(all) do
    if form ~= main then
      moveTimes(optOuts, form.name, main.name)
      moveEnds(form.name, main.name)
      if main.hmac then
        moveTimes(erased, form.hmac, main.hmac)
        moveEnds(form.hmac, main.hmac)
      end
    end
  end
  people[i] = main.name
  if hmacs then hmacs[i] = main.hmac end
end

-- Of a join: the union of what all names have.
local together, wantedBy = {}, {}
for i, person in ipairs(intent == 'join' and people or {}) do
  local hmac = hmacs and hmacs[i]
  join(together, timesOf(optOuts, person))
  if hmac then join(together, timesOf(erased, hmac)) end
  for _, of in ipairs({ '', PREFIX.provider }) do
    wantedBy[of] = math.max(wantedBy[of] or -1, endOf(of, person, hmac))
  end
end

local changed = {}
for i, person in ipairs(people) do
  local hmac = hmacs and hmacs[i]
  local own, ofErased = timesOf(optOuts, person), hmac and timesOf(erased, hmac) or {}
  local was = next(own) or next(ofErased)
  local resumed, wanted = endOf(PREFIX.provider, person, hmac), endOf('', person, hmac)
  local function overOf(by) return by == SOURCE.provider and math.max(resumed, wanted) or wanted end
  if intent == 'stop' then
    -- A change now is later than everything known, even if Redis' clock has gone back.
    local last = at and latest or math.max(now, overOf(source))
    if last >= overOf(source) then join(own, { [source] = { math.min(changedAt, now), last } }) end
  elseif intent == 'join' then
    join(own, together)
    resumed, wanted = wantedBy[PREFIX.provider], wantedBy['']
    if wanted >= 0 then noteEnd(person, wanted) end
    if resumed >= 0 then noteEnd(PREFIX.provider .. person, resumed) end
  elseif intent == 'erase' and hmac then
    join(ofErased, own)
    own = {}
    for _, of in ipairs({ '', PREFIX.provider }) do
      local ms = redis.call('ZSCORE', ends, of .. person)
      if ms then noteEnd(of .. hmac, tonumber(ms)) end
      redis.call('ZREM', ends, of .. person)
    end
  elseif intent == 'erase' then
    local isKnown = was or math.max(resumed, wanted) >= 0
    if isKnown then changed[#changed + 1] = person end
  else
    local ofProvider, over = source == SOURCE.provider, ended
    for _, times in ipairs(at and {} or { own, ofErased }) do
      for by, stop in pairs(times) do
        if by == SOURCE.provider or not ofProvider then
          -- A start that is made now ends every known stop, also when WhatsApp reports that stop once more.
          if by == SOURCE.word or by == SOURCE.provider then over = math.max(over, stop[2] + 1) end
          times[by] = nil
        end
      end
    end
    if ofProvider then resumed = math.max(resumed, over) else wanted = math.max(wanted, over) end
    -- An act of the account has no effect on somebody who is on no list; a report may come before the one that it ends.
    if at or was then noteEnd((ofProvider and PREFIX.provider or '') .. (hmac or person), over) end
  end
  for _, times in ipairs({ own, ofErased }) do
    for by, stop in pairs(times) do
      if stop[2] < overOf(by) then
        times[by] = nil
      elseif stop[1] < overOf(by) then
        times[by] = { stop[2], stop[2] }
      end
    end
  end
  if intent ~= 'erase' or hmac then
    keep(optOuts, person, own)
    if hmac then keep(erased, hmac, ofErased) end
    local is = next(own) or next(ofErased)
    if (was == nil) ~= (is == nil) then changed[#changed + 1] = person end
  end
end
redis.call('ZREMRANGEBYSCORE', ends, '-inf', text(now - KEPT))
return changed
