#!lua flags=allow-oom
-- Settles messages of one campaign that were sent at their first attempt: what message-step.lua does with the status `sent`
-- of messages of every kind, for those of which nothing else is known, in a third of the time. Whatever is not as plain as
-- that is not touched, and said so: it is settled by itself then. Once more it says `o` of each, as they are sent already.
--
-- Keys:
--   outbox       STREAM  events of the lane, if anybody wants them
--   inDoubt      ZSET    messages of the lane in doubt
--   polls        ZSET    messages of the lane to poll
-- Arguments:
--   campaigns    what the keys of the lane's campaigns begin with
--   run          number of the campaign
--   acceptedAt   ms
--   records      what the keys of messages begin with, before their ulid
--   ulids        of the messages
--   places       of their recipients in the list
--   attempts     ids of the attempts that were sent
--   providerIds  the provider's ids of the messages
--   firstPollMs? until the first status poll; none without it
-- Output: a letter for each: `s` it is sent, `o` it is to be settled by itself
-- include message-lifecycle
-- include message-events
local outbox, inDoubt, polls = unpack(KEYS)
local campaigns, run, acceptedAt, records, ulids, places, attempts, providerIds, firstPollMs =
  unpack(cmsgpack.unpack(ARGV[1]), 1, 9)

local now = redisNowMs()
local sentMs, runText = now - acceptedAt, tostring(run)
local event = '|' .. SENT .. base36(sentMs)
local letters, settled, marks, toPoll = {}, {}, {}, {}
for i = 1, #ulids do
  local record = records .. ulids[i]
  -- A record that is none is an error of its own message.
  local f = redis.pcall('HMGET', record, 's', 'a', 'h', 'r', 't', 'e', 'p', 'b', 'o')
  local claimedAt = f[1] == SENDING and f[2] == attempts[i] and f[4] == runText and string.match(f[3] or '', '^c(%w+),%w+$')
  -- An erased person's record keeps nothing that names them, and what was claimed cannot be sent before that.
  if claimedAt and f[5] and f[5] ~= '' and not (f[6] or f[7] or f[8]) and tonumber(claimedAt, 36) <= sentMs then
    local history = f[3] .. event
    redis.call('HSET', record, 's', SENT, 'h', history, 'w', providerIds[i])
    tell({ state = SENT, repeats = tonumber(f[9] or '0') }, ulids[i], history)
    letters[i] = 's'
    settled[#settled + 1] = ulids[i]
    marks[#marks + 1], marks[#marks + 2] = places[i], string.find(MARKS, SENT, 1, true)
    toPoll[#toPoll + 1], toPoll[#toPoll + 2] = now + (firstPollMs or 0), ulids[i]
  else
    letters[i] = 'o'
  end
end
if #settled > 0 then
  writeEvents()
  redis.call('ZREM', inDoubt, unpack(settled))
  if firstPollMs then redis.call('ZADD', polls, unpack(toPoll)) end
  writeChanges(campaigns, run, { counts = { [SENDING] = -#settled, [SENT] = #settled }, marks = marks })
end
return table.concat(letters)
