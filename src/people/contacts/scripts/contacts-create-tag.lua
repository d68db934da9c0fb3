-- Creates a tag unless the account has one of this name.
--
-- Keys:
--   names     HASH  case-folded name -> tag id
--   tag       HASH  the new tag
-- Arguments:
--   folded    case-folded name
--   id        of the new tag, as text
--   name
-- Output: id of the tag that has the name, as text; it is the new one's when the tag was created
local names, tag = unpack(KEYS)
local folded, id, name = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
if redis.call('HSETNX', names, folded, id) == 0 then
  return redis.call('HGET', names, folded)
end
redis.call('HSET', tag, 'id', id, 'name', name)
return id
