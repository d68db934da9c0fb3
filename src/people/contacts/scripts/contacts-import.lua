-- Adds contacts to a tag. A phone number that the account knows already keeps its contact; name and email replace what
-- is there unless they are empty. Running it again changes nothing.
--
-- Keys:
--   tag              HASH  the tag
--   members          ZSET  contact id by membership id
--   phones           HASH  phone digits -> contact id
--   prefix           of the contacts' keys: the phone numbers determine the contacts
-- Arguments:
--   tagId            as text
--   firstContact     of the reserved contact ids
--   firstMembership  of the reserved membership ids
--   contacts         {{phone: , name: , email: }, ...}
--   most             contacts that the account may have; 0 is no limit
-- Output: number of contacts created and of contacts that joined the tag; false when there is no such tag; 'full', and
-- nothing was written, when there is no room for all of them
local tag, members, phones, prefix = unpack(KEYS)
local tagId, firstContact, firstMembership, contacts, most = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
if redis.call('EXISTS', tag) == 0 then
  return false
end
if most > 0 and redis.call('HLEN', phones) + #contacts > most then
  local new, seen = 0, {}
  for _, contact in ipairs(contacts) do
    if not seen[contact.phone] and redis.call('HEXISTS', phones, contact.phone) == 0 then new = new + 1 end
    seen[contact.phone] = true
  end
  if new > 0 and redis.call('HLEN', phones) + new > most then return 'full' end
end
local created, joined = 0, 0
for _, contact in ipairs(contacts) do
  local phone, name, email = contact.phone, contact.name, contact.email
  local id = redis.call('HGET', phones, phone)
  if not id then
    id = string.format('%.0f', firstContact + created)
    redis.call('HSET', prefix .. SUFFIX.contact .. id, 'phone', phone, 'name', name, 'email', email, 'tags', tagId)
    redis.call('HSET', phones, phone, id)
    redis.call('ZADD', members, string.format('%.0f', firstMembership + joined), id)
    created = created + 1
    joined = joined + 1
  else
    local key = prefix .. SUFFIX.contact .. id
    if name ~= '' then
      redis.call('HSET', key, 'name', name)
    end
    if email ~= '' then
      redis.call('HSET', key, 'email', email)
    end
    if redis.call('ZADD', members, 'NX', string.format('%.0f', firstMembership + joined), id) == 1 then
      joined = joined + 1
      local tags = redis.call('HGET', key, 'tags')
      redis.call('HSET', key, 'tags', tags and tags ~= '' and tags .. ',' .. tagId or tagId)
    end
  end
end
return { created, joined }
