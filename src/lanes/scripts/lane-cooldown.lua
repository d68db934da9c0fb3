#!lua flags=allow-oom
-- Rests a lane without a step of a message, as after answers that prove nothing. A rest that ends later stays.
--
-- KEYS[1] rest of the lane (STRING)    ARGV[1] ms    ARGV[2] reason, `code|sentence`
-- include ../../messages/store/scripts/message-lifecycle
-- include ../../messages/store/scripts/message-cooldowns
restLane(KEYS[1], tonumber(ARGV[1]), redisNowMs(), ARGV[2])
return 'OK'
