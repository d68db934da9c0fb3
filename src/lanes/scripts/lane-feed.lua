#!lua
-- Puts places of a running campaign's list on its lane, except those that wait there already. Refused when Redis is full.
--
-- Turns are start-time fair queueing: each place gets the turn after the one before it of its campaign, or after the one
-- that the lane has come to, whichever is later. So campaigns that share a lane get equal parts of it, whatever their
-- sizes and whoever came first, and a campaign that had nothing there makes up for nothing. What workers have read and not
-- claimed yet is as good as claimed: the step of a late worker is two seconds long, and who came meanwhile would be sent
-- alone for as long.
--
-- Keys:
--   places    ZSET    places of campaigns that wait, by their turns
--   turns     ZSET    campaign -> the turn of its latest place; `now` -> the latest turn that was claimed
--   campaign  HASH
--   readers   HASH    worker -> what it reads: `ms`, then ids of jobs and names of places (lane-next.lua)
-- Arguments:
--   run       number of the campaign
--   spans     {first place, how many, ...}
-- Output: how many places were added; -1 when the campaign does not run
local places, turns, campaign, readers = unpack(KEYS)
local run, spans = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local KEPT_MS = 604800000
if redis.call('HGET', campaign, 'state') ~= 'running' then return -1 end

local names = {}
for i = 1, #spans, 2 do
  for place = spans[i], spans[i] + spans[i + 1] - 1 do names[#names + 1] = string.format('%d/%d', run, place) end
end
local isEmpty = redis.call('EXISTS', places) == 0
-- No place waits: start the turns again at 0.
if isEmpty then redis.call('DEL', turns) end
local latest = redis.call('ZMSCORE', turns, run, 'now')
local turn, now = tonumber(latest[1] or 0), tonumber(latest[2] or 0)
-- It had nothing there.
if turn <= now then
  turn = now
  for _, reading in ipairs(redis.call('HVALS', readers)) do
    local read = {}
    for name in string.gmatch(reading, '%d+/%d+') do read[#read + 1] = name end
    for _, taken in ipairs(#read > 0 and redis.call('ZMSCORE', places, unpack(read)) or {}) do
      turn = math.max(turn, tonumber(taken or 0))
    end
  end
end
local waits = isEmpty and {} or redis.call('ZMSCORE', places, unpack(names))
local adding = {}
for i, name in ipairs(names) do
  if not waits[i] then
    turn = turn + 1
    -- As text: Redis writes out a number from Lua with up to seventeen digits, which is slow.
    adding[#adding + 1], adding[#adding + 2] = string.format('%d', turn), name
  end
end
if #adding == 0 then return 0 end
redis.call('ZADD', places, unpack(adding))
redis.call('ZADD', turns, turn, run)
redis.call('PEXPIRE', turns, KEPT_MS)
return #adding / 2
