-- Cooldowns: times in which nothing is sent, after the chat product has said that it is too much. Written in the same step
-- as the proof that an attempt was refused, asked by every claim. Included by message-claim.lua and message-step.lua.
--
-- A lane's is a STRING, the time at which it ends (ms).
-- A recipient's is a STRING of four numbers:
--   ends      when the chat product may be asked again (ms)
--   next      when the next message may go (ms): at the end of the cooldown the first one, then one at a time
--   refusals  cooldowns in a row so far
--   queued    messages that were put back, each to a turn of its own

-- The chat product takes one message per 6 s to one recipient, once its burst of 45 is used up.
local TURN_MS = 6000
-- A claim that comes so little too early, as by another machine's clock, is not queued again.
local EARLY_MS = 1000
-- How long the refusals in a row are remembered after the last turn that was given out; as long as the cooldown at least.
local REMEMBERED_MS = 60000

local function writeCooldown(key, r, ms)
  local keptMs = math.max(redis.call('PTTL', key), ms + math.max(REMEMBERED_MS, ms))
  redis.call('SET', key, string.format('%d %d %d %d', r.ends, r.next, r.refusals, r.queued), 'PX', string.format('%d', keptMs))
end

local function readCooldown(text)
  local ends, nextAt, refusals, queued = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return { ends = tonumber(ends), next = tonumber(nextAt), refusals = tonumber(refusals), queued = tonumber(queued) }
end

-- Gives the next turn out: the ms until it.
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

-- The chat product refused a message to this recipient: the ms that this message waits. 4^X s as it advises, X the
-- refusals in a row, at most 4^6 s. What was under way together with the message that began the cooldown does not count.
local function coolRecipient(key, leastMs, now)
  local text = redis.call('GET', key)
  local r = text and readCooldown(text) or { ends = 0, next = 0, refusals = 0, queued = 0 }
  if now >= r.ends then
    r.ends = now + math.max(math.ceil(leastMs), 1000 * 4 ^ math.min(r.refusals, 6))
    r.next, r.refusals, r.queued = r.ends, r.refusals + 1, 0
  end
  return reserveTurn(key, r, now)
end

-- The lane, or its polls, cool down for so long; a cooldown that ends later stays. A reason, `code|sentence`, is kept beside it.
local function coolLane(key, ms, now, reason)
  local till = now + math.max(1, math.ceil(ms))
  if till <= tonumber(redis.call('GET', key) or '0') then return end
  local keptMs = string.format('%d', till - now)
  redis.call('SET', key, string.format('%d', till), 'PX', keptMs)
  if reason then redis.call('SET', key .. '-reason', reason, 'PX', keptMs) end
end
