-- Cooldowns: times in which nothing is sent, after the chat product has said that it is too much. Written in the same step
-- as the proof that an attempt was refused, asked by every claim. Included by message-claim.lua and message-step.lua.
--
-- A lane's is a STRING, the time at which it ends (ms).
-- A recipient's is a STRING of four numbers:
--   rest      when the chat product may be asked again (ms)
--   next      when the next message may go (ms): at the end of the cooldown the first one, then one at a time
--   refusals  cooldowns in a row so far
--   line      messages that were put back, each to a turn of its own

-- The chat product takes one message per 6 s to one recipient, once its burst of 45 is used up.
local TURN = 6000
-- Who comes so little too early, as by another machine's clock, does not stand in line again.
local EARLY = 1000
-- How long the refusals in a row are remembered after the last turn that was given out; as long as the cooldown at least.
local REMEMBERED = 60000

local function writeCooldown(key, r, ms)
  local keptMs = math.max(redis.call('PTTL', key), ms + math.max(REMEMBERED, ms))
  redis.call('SET', key, string.format('%d %d %d %d', r.rest, r.next, r.refusals, r.line), 'PX', string.format('%d', keptMs))
end

local function readCooldown(text)
  local rest, nextAt, refusals, line = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return { rest = tonumber(rest), next = tonumber(nextAt), refusals = tonumber(refusals), line = tonumber(line) }
end

-- Gives the next turn out: the ms until it.
local function reserveTurn(key, r, now)
  local ms = math.max(0, r.next - now) + r.line * TURN
  r.line = r.line + 1
  writeCooldown(key, r, ms)
  return ms
end

-- A claim of a message to a recipient in a cooldown: the ms that it must wait, or nil when it may go.
local function mustWait(key, text, now)
  local r = readCooldown(text)
  local restMs = r.rest - now
  if restMs > 0 and restMs <= EARLY then return restMs end
  if restMs > 0 or now < r.next - EARLY then return reserveTurn(key, r, now) end
  r.next = now + TURN
  r.line = math.max(0, r.line - 1)
  writeCooldown(key, r, TURN)
end

-- The chat product refused a message to this recipient: the ms that this message waits. 4^X s as it advises, X the
-- refusals in a row, at most 4^6 s. What was under way together with the message that began the cooldown does not count.
local function coolRecipient(key, leastMs, now)
  local text = redis.call('GET', key)
  local r = text and readCooldown(text) or { rest = 0, next = 0, refusals = 0, line = 0 }
  if now >= r.rest then
    r.rest = now + math.max(math.ceil(leastMs), 1000 * 4 ^ math.min(r.refusals, 6))
    r.next, r.refusals, r.line = r.rest, r.refusals + 1, 0
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
