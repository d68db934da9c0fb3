-- Marks a recipient of a campaign as having answered; each counts once.
--
-- Keys:
--   campaign  HASH
--   counts    HASH    of the campaign
--   replied   STRING  a bit for each recipient, by place
-- Arguments:
--   place
-- Output: 1 when they had not answered before
local campaign, counts, replied = unpack(KEYS)
local place = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
-- An id that was not made from the list must not make the string grow; nothing is stored for an expired campaign.
if place >= tonumber(redis.call('HGET', campaign, 'total') or '0') then return 0 end
if redis.call('SETBIT', replied, place, 1) == 1 then return 0 end
redis.call('HINCRBY', counts, ASIDE.replied, 1)
-- Both expire with an ended campaign; an active one does not expire.
local ttl = redis.call('PTTL', campaign)
if ttl > 0 then
  for _, key in ipairs({ counts, replied }) do
    if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
  end
end
return 1
