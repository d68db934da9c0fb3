-- Moves the cursor of a job that sends messages again, and counts what stood in the page behind it. Of two workers that
-- do the same page only one moves on and counts.
-- KEYS[1] how far the job is on this lane (HASH)
-- ARGV[1] cursor before ('' = none yet)    ARGV[2] cursor after    ARGV[3] ms that it is kept    ARGV[4…] field, count, …
-- Output: 1, or 0 when the cursor stands elsewhere
if (redis.call('HGET', KEYS[1], 'cursor') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'cursor', ARGV[2])
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] ~= '0' then redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
