-- Slots: each request of a lane leaves at a time of its own on Redis' clock, so that a stalled worker cannot send a burst.
-- src/model/messages/pace.ts has the numbers. A lane has one LIST of its latest slots (µs), the last one first: as many as a
-- window of the pace holds. Included by message-claim.lua and message-slot.lua.
--
-- A worker that is alone may use slots of the past, and so sends more for a moment than its slots say. Until that is over,
-- `late` (µs), nobody else gets a slot: who would have one leaves a note, `joins`, and from then on the first worker uses no more slots
-- of the past.

-- No slot is reserved further ahead than this (µs). A slot that is was reserved before Redis' clock was set back.
local FARTHEST = 5000000
-- As long as a worker takes a lane to be shared (ms).
local JOINS = 10000

local function redisNowUs()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- The slots of a lane for one step, which may reserve `most` of them: what it reserves is written by `write`.
local function openSlots(key, nowUs, pace, most)
  local lastName = redis.call('LINDEX', key, 0)
  local last = tonumber(lastName or '')
  local isStale = last and last > nowUs + FARTHEST
  if isStale then last = nil end
  local isOther = last ~= nil and lastName ~= pace.latest
  local isShared = isOther or redis.call('EXISTS', key .. SUFFIX.joins) == 1
  -- Only a worker that is alone on the lane may use slots of the past: it knows every request that has left.
  local earliestUs = isShared and nowUs or nowUs - (pace.pastUs or 0)
  local lateUntil = isOther and tonumber(redis.call('GET', key .. SUFFIX.late) or '')
  if lateUntil and lateUntil > nowUs and lateUntil <= nowUs + pace.aloneUs then
    earliestUs = lateUntil
    redis.call('SET', key .. SUFFIX.joins, '', 'PX', JOINS)
  end
  local reserved, texts, count = {}, {}, 0

  -- The slot so many before the next one. Those of the whole step lie side by side, deep in the list: one read gets them all.
  local old, oldFrom
  local function before(places)
    if places <= count then return reserved[count + 1 - places] end
    if isStale then return nil end
    local at = places - 1 - count
    if not old or at < oldFrom then
      oldFrom = math.max(0, at - most + 1)
      old = redis.call('LRANGE', key, oldFrom, at)
    end
    return tonumber(old[at - oldFrom + 1] or '')
  end

  local slots = {}
  -- The slot that comes next: a gap after the last one. A lane that has lost slots, because nobody claimed them in time,
  -- makes up for them as long as its window has room, but no two slots are closer than `closestUs`.
  function slots.next()
    if not last then return nowUs end
    local first = before(pace.window)
    local dueUs = first and first + pace.window * pace.gapUs or last + pace.gapUs
    return math.max(earliestUs, last + pace.closestUs, dueUs)
  end

  -- Whether another worker has reserved slots since the latest of this one.
  slots.isShared = isShared

  -- Reserves a slot; returns it as text, as it is stored.
  function slots.reserve(slotUs)
    last = slotUs
    count = count + 1
    local text = string.format('%d', slotUs + 0.5)
    reserved[count], texts[count] = slotUs, text
    return text
  end

  -- Stores what was reserved. Kept no longer than it matters.
  function slots.write()
    if count == 0 then return end
    if isStale then redis.call('DEL', key) end
    if reserved[1] < nowUs then
      redis.call('SET', key .. SUFFIX.late, string.format('%.0f', nowUs + pace.aloneUs), 'PX', pace.aloneUs / 1000)
    end
    redis.call('LPUSH', key, unpack(texts))
    redis.call('LTRIM', key, 0, pace.window - 1)
    redis.call('PEXPIRE', key, string.format('%d', (last - nowUs + pace.window * pace.gapUs) / 1000 + 1000))
  end
  return slots
end
