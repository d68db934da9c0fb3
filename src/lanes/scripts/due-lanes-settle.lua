#!lua flags=allow-oom
-- Ends a look at lanes: each is looked at again at a time of its own, or not any more. One that was marked since it was
-- taken has another score by now and stays as it is: what the mark is for may have come after the look.
--
-- KEYS[1] lanes to look at (ZSET)    ARGV[1] the time that they were put off to (ms)
-- ARGV[2…] lane, time (ms; '' = not any more), …
for i = 2, #ARGV, 2 do
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or '-1') == tonumber(ARGV[1]) then
    if ARGV[i + 1] == '' then
      redis.call('ZREM', KEYS[1], ARGV[i])
    else
      redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i])
    end
  end
end
return 'OK'
