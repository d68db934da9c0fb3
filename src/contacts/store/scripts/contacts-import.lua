-- Adds contacts to a tag. A phone number that the account knows already keeps its contact; name and email replace what
-- is there unless they are empty. Running it again changes nothing.
-- KEYS[1] HASH of the tag
-- KEYS[2] ZSET of the tag's members: contact id by membership id
-- KEYS[3] HASH phone digits -> contact id
-- KEYS[4] prefix of the contacts' keys: only the phone numbers tell which contacts they are
-- ARGV[1] tag id
-- ARGV[2] first of the reserved contact ids
-- ARGV[3] first of the reserved membership ids
-- ARGV[4...] phone, name and email of each contact
-- Output: number of contacts created and of contacts that joined the tag; false when there is no such tag
if redis.call('EXISTS', KEYS[1]) == 0 then
  return false
end
local contact, membership = tonumber(ARGV[2]), tonumber(ARGV[3])
local created, joined = 0, 0
for i = 4, #ARGV, 3 do
  local phone, name, email = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local id = redis.call('HGET', KEYS[3], phone)
  if not id then
    id = string.format('%.0f', contact + created)
    redis.call('HSET', KEYS[4] .. ':contact:' .. id, 'phone', phone, 'name', name, 'email', email, 'tags', ARGV[1])
    redis.call('HSET', KEYS[3], phone, id)
    redis.call('ZADD', KEYS[2], string.format('%.0f', membership + joined), id)
    created = created + 1
    joined = joined + 1
  else
    local key = KEYS[4] .. ':contact:' .. id
    if name ~= '' then
      redis.call('HSET', key, 'name', name)
    end
    if email ~= '' then
      redis.call('HSET', key, 'email', email)
    end
    if redis.call('ZADD', KEYS[2], 'NX', string.format('%.0f', membership + joined), id) == 1 then
      joined = joined + 1
      local tags = redis.call('HGET', key, 'tags')
      redis.call('HSET', key, 'tags', tags and tags ~= '' and tags .. ',' .. ARGV[1] or ARGV[1])
    end
  end
end
return { created, joined }
