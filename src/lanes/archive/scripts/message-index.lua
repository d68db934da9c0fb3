-- The index of a lane's messages, for scripts that add to it. It costs bytes, not entries: ids are appended to segments,
-- and beside each id a four-byte hash of the person. Everything is read with src/lanes/archive/message-index.ts.
--
-- index = ZSET segment -> acceptance (ms) of its newest message. A segment is two STRINGs of the same order, index:<name>
-- with an id per message and index:<name>:to with 4 bytes each. The name begins with a letter of SERIES, by time followed by a
-- digit of DIGIT, and gives the content:
--   o0<ms>, o1<ms>, o2<ms>  messages that were accepted at <ms>, when the segment was begun, or later; o1: up to an hour
--                           before it as well, o2: any time before. 16 bytes an id.
--   r0<ms>, r1<ms>, r2<ms>  the same of received ones. 27 bytes an id.
--   c<number>               messages of a campaign, by their places in its list: the 7 bytes of the id that do not
--                           follow from start and place. All zero: no message yet.
-- index:open = HASH series, as `o0` -> when its segment was begun: the one that is appended to.
local SEGMENT, SEGMENT_MS, PUNCTUAL_MS, LATE_MS, SLACK_MS = 4096, 604800000, LATENESS.punctualMs, LATENESS.lateMs, 3600000

-- Writes an expiry about once an hour, not with every message.
local function keepIndexed(key, untilMs)
  if redis.call('PEXPIRETIME', key) < untilMs then
    redis.call('PEXPIREAT', key, string.format('%.0f', untilMs + SLACK_MS))
  end
end

local function keepSegment(index, name, newestMs, untilMs)
  redis.call('ZADD', index, 'GT', newestMs, name)
  keepIndexed(index, untilMs)
  keepIndexed(index .. ':' .. name, untilMs)
  keepIndexed(index .. ':' .. name .. SUFFIX.people, untilMs)
end

-- A string that was appended to has spare room of its own size; writing it once more frees that.
local function shrink(key)
  for _, each in ipairs({ key, key .. SUFFIX.people }) do
    local bytes = redis.call('GET', each)
    if bytes then redis.call('SET', each, bytes, 'KEEPTTL') end
  end
end

-- Appends messages to the segment of their series, SERIES.sent or SERIES.received. An id that is appended twice is shown once.
local function indexMessages(index, series, ids, hashes, oldestMs, newestMs, untilMs, nowMs)
  local late = nowMs - oldestMs
  series = series .. (late <= PUNCTUAL_MS and DIGIT.punctual or late <= LATE_MS and DIGIT.late or DIGIT.anyTime)
  local open = index .. SUFFIX.open
  local begun = redis.call('HGET', open, series)
  if not begun or nowMs - begun >= SEGMENT_MS then
    if begun then shrink(index .. ':' .. series .. begun) end
    begun = string.format('%.0f', nowMs)
    redis.call('HSET', open, series, begun)
    -- Segments expire by themselves; their names are swept here, a few each time a segment is begun.
    for _, name in ipairs(redis.call('ZRANGE', index, 0, 15)) do
      if redis.call('EXISTS', index .. ':' .. name) == 0 then redis.call('ZREM', index, name) end
    end
  end
  local key = index .. ':' .. series .. begun
  redis.call('APPEND', key, ids)
  local bytes = redis.call('APPEND', key .. SUFFIX.people, hashes)
  keepSegment(index, series .. begun, newestMs, untilMs)
  keepIndexed(open, untilMs)
  if bytes >= SEGMENT * 4 and nowMs > tonumber(begun) then
    shrink(key)
    redis.call('HDEL', open, series)
  end
end

-- Writes messages of a campaign, `place` being that of the first, the others following without a gap; ids have 16 bytes.
-- Doing it again changes nothing. `campaigns` is what the keys of the lane's campaigns begin with.
local function indexCampaign(index, campaigns, run, startedAtMs, place, ids, hashes, untilMs, nowMs)
  local total = tonumber(redis.call('HGET', campaigns .. run, 'total') or '0')
  -- Ids that were not made from the list must not make the strings grow.
  if place + #hashes / 4 > total then
    return indexMessages(index, SERIES.sent, ids, hashes, startedAtMs, startedAtMs, untilMs, nowMs)
  end
  local parts = {}
  for at = 16, #ids, 16 do parts[#parts + 1] = string.sub(ids, at - 6, at) end
  local name = SERIES.campaign .. run
  redis.call('SETRANGE', index .. ':' .. name, place * 7, table.concat(parts))
  redis.call('SETRANGE', index .. ':' .. name .. SUFFIX.people, place * 4, hashes)
  keepSegment(index, name, startedAtMs, untilMs)
end
