-- Creates a tag unless the account has one of this name.
-- KEYS[1] HASH case-folded name -> tag id
-- KEYS[2] HASH of the new tag
-- ARGV[1] case-folded name
-- ARGV[2] id of the new tag
-- ARGV[3] name
-- Output: id of the tag that has the name, as text; it is ARGV[2] when the tag was created
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return redis.call('HGET', KEYS[1], ARGV[1])
end
redis.call('HSET', KEYS[2], 'id', ARGV[2], 'name', ARGV[3])
return ARGV[2]
