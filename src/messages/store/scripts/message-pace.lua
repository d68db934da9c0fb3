-- Slots: each request of a lane leaves at a time of its own, on Redis' clock, which no stalled worker can bunch up.
-- src/messages/pace.ts has the numbers. The state of a lane is one LIST, its latest slots (µs), the last one first: as
-- many as a window of the pace holds. Included by message-claim.lua and message-slot.lua.

-- No slot is reserved so far ahead (µs): one that is was reserved before Redis' clock was set back.
local FARTHEST = 5000000

local function redisNowUs()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- The slot that comes next: a gap after the last one. A lane that has lost slots, because nobody claimed them in time,
-- makes up for them as long as its window has room, but no two slots are closer than `closestUs`.
local function nextSlot(key, nowUs, pace)
  local last = tonumber(redis.call('LINDEX', key, 0) or '')
  if not last or last > nowUs + FARTHEST then return nowUs end
  local first = tonumber(redis.call('LINDEX', key, pace.window - 1) or '')
  local dueUs = first and first + pace.window * pace.gapUs or last + pace.gapUs
  return math.max(nowUs, last + pace.closestUs, dueUs)
end

-- Reserves a slot; returns it as it is written down. Kept no longer than it matters.
local function reserve(key, slotUs, nowUs, pace)
  local text = string.format('%.0f', slotUs)
  -- Any that is later than this one was reserved before the clock was set back.
  if tonumber(redis.call('LINDEX', key, 0) or '0') > slotUs then redis.call('DEL', key) end
  redis.call('LPUSH', key, text)
  redis.call('LTRIM', key, 0, pace.window - 1)
  redis.call('PEXPIRE', key, string.format('%.0f', (slotUs - nowUs + pace.window * pace.gapUs) / 1000 + 1000))
  return text
end
