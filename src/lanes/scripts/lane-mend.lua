#!lua flags=allow-oom
-- Requeues jobs listed as active whose record is not `sending`, because the record was lost. A claim and its settling change
-- list and record in one step, so they never differ otherwise. Idempotent.
--
-- Keys:
--   waiting      LIST  ids of jobs that wait
--   prioritized  ZSET  ids of jobs that wait
--   delayed      ZSET  ids of jobs that are put off
--   active       LIST  ids of jobs whose messages are being sent
-- Arguments:
--   jobs         what the keys of jobs begin with
--   records      what the keys of messages begin with, before their ulid
-- Output: how many were requeued
-- include ../messages/scripts/message-lifecycle
local waiting, prioritized, delayed, active = unpack(KEYS)
local jobs, records = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
-- include ../bullmq/scripts/message-jobs
local MOST = 1000
local count = 0
for _, id in ipairs(redis.call('LRANGE', active, -MOST, -1)) do
  if redis.call('HGET', records .. string.sub(id, -26), FIELD.state) ~= SENDING then
    local job = jobs .. id
    -- Of a job that is gone only the id is left.
    if redis.call('EXISTS', job) == 1 then endSending(job, id, 0, 0) else redis.call('LREM', active, -1, id) end
    count = count + 1
  end
end
return count
