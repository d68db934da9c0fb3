-- The scores that BullMQ gives to jobs.

-- Of a delayed job: the ms at which it is due, times 4,096, plus a number that keeps jobs of one ms in the order of arrival.
local function delayedScore(delayed, dueMs)
  local least, most = dueMs * 4096, dueMs * 4096 + 4095
  local last = redis.call('ZREVRANGEBYSCORE', delayed, string.format('%d', most), string.format('%d', least),
    'WITHSCORES', 'LIMIT', 0, 1)[2]
  return string.format('%d', last and math.min(tonumber(last) + 1, most) or least)
end

-- The least score of a delayed job that is due at this time.
local function scoreFrom(dueMs) return string.format('%d', dueMs * 4096) end

-- Of a prioritized job: by priority, then in the order of arrival. Without a counter it goes first.
local function prioritizedScore(priority, counter)
  local place = counter and redis.call('INCR', counter) % 0x100000000 or 0
  return string.format('%d', priority * 0x100000000 + place)
end
