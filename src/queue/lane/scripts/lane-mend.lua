#!lua flags=allow-oom
-- Puts back in line what stands among the jobs whose messages are being sent, and is not: its record was lost, or an
-- earlier release left it there. A claim and its end keep both alike. Doing it again changes nothing.
--
-- Keys:
--   active       LIST  ids of jobs whose messages are being sent: BullMQ's
--   waiting      LIST  ids of jobs that wait: BullMQ's
--   prioritized  ZSET  ids of jobs that wait: BullMQ's
-- Arguments:
--   jobs         what the keys of jobs begin with
--   records      what the keys of messages begin with, before their ulid
-- Output: how many were put back
-- include ../../../messages/store/scripts/message-lifecycle
local active, waiting, prioritized = unpack(KEYS)
local jobs, records = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local MOST = 1000
local count = 0
for _, id in ipairs(redis.call('LRANGE', active, -MOST, -1)) do
  local state = redis.call('HGET', records .. string.sub(id, -26), 's')
  if state ~= SENDING and redis.call('LREM', active, -1, id) > 0 then
    local priority = redis.call('HGET', jobs .. id, 'priority')
    if not priority then
      redis.call('DEL', jobs .. id)
    elseif tonumber(priority) == 0 then
      redis.call('RPUSH', waiting, id)
    else
      redis.call('ZADD', prioritized, string.format('%.0f', priority * 0x100000000), id)
    end
    count = count + 1
  end
end
return count
