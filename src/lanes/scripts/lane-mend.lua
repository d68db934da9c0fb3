#!lua flags=allow-oom
-- Finds jobs listed as active whose record is not `sending`. A claim and its settling change list and record in one step, so
-- they only differ if the record was changed by hand, or has gone. What has a record waits again, and is sent or dropped by
-- what the record says. What has none was claimed and may have been sent: the caller ends it. Idempotent.
--
-- Keys:
--   waiting      LIST  ids of jobs that wait
--   prioritized  ZSET  ids of jobs that wait
--   delayed      ZSET  ids of jobs that are put off
--   active       LIST  ids of jobs whose messages are being sent
-- Arguments:
--   jobs         what the keys of jobs begin with
--   records      what the keys of messages begin with, before their ulid
--   unreadable   ids of jobs that cannot be read any more: they wait again and become dead letters, for a person to look at
-- Output: ids of those without a record
-- include ../messages/scripts/message-lifecycle
local waiting, prioritized, delayed, active = unpack(KEYS)
local jobs, records, unreadable = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
-- include ../bullmq/scripts/message-jobs
local MOST = 1000
local lost, isUnreadable = {}, {}
for _, id in ipairs(unreadable) do isUnreadable[id] = true end
for _, id in ipairs(redis.call('LRANGE', active, -MOST, -1)) do
  local job, state = jobs .. id, redis.call('HGET', records .. string.sub(id, -26), FIELD.state)
  -- Of a job that is gone only the id is left.
  if redis.call('EXISTS', job) == 0 then
    redis.call('LREM', active, -1, id)
  elseif not state and not isUnreadable[id] then
    lost[#lost + 1] = id
  elseif state ~= SENDING then
    endSending(job, id, 0, 0)
  end
end
return lost
