-- Cooldowns: times in which nothing is sent because WhatsApp has throttled. They are written in the step that proves an
-- attempt refused, and read by every claim. Included by message-claim.lua and message-step.lua.
--
-- A lane's is a STRING, the time at which it ends (ms). After answers that prove nothing there is another STRING beside it,
-- the probe `ms|code|sentence`: how long the lane has waited last, and why. While that exists, the end of a cooldown lets only
-- one message go, and the others wait until it is settled: a broken provider, or the error page of a proxy, costs one message
-- without proof each time.
-- A recipient's is a STRING of four numbers:
--   ends      when WhatsApp may be asked again (ms)
--   next      when the next message may go (ms): at the end of the cooldown the first one, then one at a time
--   refusals  cooldowns in a row so far
--   queued    messages that were put back, each to a turn of its own

-- WhatsApp takes one message per 6 s to one recipient, once its burst of 45 is used up.
local TURN_MS = 6000
-- A claim that is early by no more than this, as by another machine's clock, waits without taking one more turn.
local EARLY_MS = 1000
-- How long the refusals in a row count after the last turn that was reserved; at least as long as the cooldown.
local REMEMBERED_MS = 60000

local function writeCooldown(key, r, ms)
  local keptMs = math.max(redis.call('PTTL', key), ms + math.max(REMEMBERED_MS, ms))
  redis.call('SET', key, string.format('%d %d %d %d', r.ends, r.next, r.refusals, r.queued), 'PX', string.format('%d', keptMs))
end

local function readCooldown(text)
  local ends, nextAt, refusals, queued = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return { ends = tonumber(ends), next = tonumber(nextAt), refusals = tonumber(refusals), queued = tonumber(queued) }
end

-- Reserves the next turn; returns the ms until it.
local function reserveTurn(key, r, now)
  local ms = math.max(0, r.next - now) + r.queued * TURN_MS
  r.queued = r.queued + 1
  writeCooldown(key, r, ms)
  return ms
end

-- A claim of a message to a recipient in a cooldown: the ms that it must wait, or nil when it may go.
local function mustWait(key, text, now)
  local r = readCooldown(text)
  local leftMs = r.ends - now
  if leftMs > 0 and leftMs <= EARLY_MS then return leftMs end
  if leftMs > 0 or now < r.next - EARLY_MS then return reserveTurn(key, r, now) end
  r.next = now + TURN_MS
  r.queued = math.max(0, r.queued - 1)
  writeCooldown(key, r, TURN_MS)
end

-- Cools a recipient down after a refusal; returns the ms that this message waits. The cooldown takes 4^X s, as WhatsApp
-- advises, X the refusals in a row, at most 4^6 s. A refusal during a cooldown does not count: its message was under way
-- together with the one that began the cooldown.
local function coolRecipient(key, leastMs, now)
  local text = redis.call('GET', key)
  local r = text and readCooldown(text) or { ends = 0, next = 0, refusals = 0, queued = 0 }
  if now >= r.ends then
    r.ends = now + math.max(math.ceil(leastMs), 1000 * 4 ^ math.min(r.refusals, 6))
    r.next, r.refusals, r.queued = r.ends, r.refusals + 1, 0
  end
  return reserveTurn(key, r, now)
end

-- A probe that is under way may end at any moment: whoever waits for it asks again after this.
local PROBE_LOOK_MS = 1000
-- How long a probe is kept beyond its cooldown.
local PROBE_KEPT_MS = 3600000

-- The ms that a lane's cooldown lasts, as claims return it; `till` and `probe` as Redis stores them.
local function cooldownLeft(till, probe, now)
  local left = math.max(0, (tonumber(till or nil) or 0) - now)
  return probe and math.min(left, PROBE_LOOK_MS) or left
end

-- Begins a cooldown of a lane, or of its polls, unless one that ends later exists. Its reason, `code|sentence`, is kept beside it.
local function coolLane(key, ms, now, reason)
  local till = now + math.max(1, math.ceil(ms))
  if till <= tonumber(redis.call('GET', key) or '0') then return end
  local keptMs = string.format('%d', till - now)
  redis.call('SET', key, string.format('%d', till), 'PX', keptMs)
  if reason then redis.call('SET', key .. SUFFIX.reason, reason, 'PX', keptMs) end
end

-- Cools a lane down, to be probed afterwards: twice as long as the last time, from `ms` to `mostMs`. Attempts that end during
-- the cooldown are of the burst that began it and change nothing, except the probe itself. Returns the ms, and whether the
-- cooldown is new.
local function coolForProbe(key, ms, mostMs, isProbe, now, reason)
  local found = redis.call('MGET', key, key .. SUFFIX.probe)
  local left = (tonumber(found[1] or nil) or 0) - now
  if found[2] and left > 0 and not isProbe then return left, false end
  local before = found[2] and tonumber(string.match(found[2], '^%d+')) or 0
  ms = math.max(1, math.ceil(ms), math.min(mostMs, 2 * before))
  if isProbe then redis.call('DEL', key) end
  coolLane(key, ms, now, reason)
  redis.call('SET', key .. SUFFIX.probe, string.format('%d|%s', ms, reason), 'PX', string.format('%d', ms + PROBE_KEPT_MS))
  return ms, true
end
