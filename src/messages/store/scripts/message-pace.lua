-- Slots: each request of a lane leaves at a time of its own, on Redis' clock, which no stalled worker can bunch up.
-- src/messages/pace.ts has the numbers. The state of a lane is one STRING, its last slot (µs). Included by
-- message-claim.lua and message-slot.lua.

-- No slot is reserved so far ahead (µs): one that is was reserved before Redis' clock was set back.
local FARTHEST = 5000000

local function redisNowUs()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- The slot that comes after the last one.
local function slotAfter(last, nowUs, gapUs, graceUs)
  local at = tonumber(last or '0')
  if at > nowUs + FARTHEST then at = 0 end
  return math.max(at + gapUs, nowUs - graceUs)
end

-- Reserves a slot; returns it as it is written down. Kept no longer than it matters.
local function reserve(key, slotUs, nowUs, gapUs)
  local text = string.format('%.2f', slotUs)
  redis.call('SET', key, text, 'PX', string.format('%.0f', (math.max(slotUs - nowUs, 0) + gapUs) / 1000 + 1000))
  return text
end
