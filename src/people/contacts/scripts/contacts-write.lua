-- Creates a contact or changes one: missing fields stay as they are. Idempotent.
--
-- Keys:
--   contact          HASH  the contact
--   phones           HASH  phone digits -> contact id
--   prefix           of the contacts' keys: the contact determines which tags it leaves
-- Arguments:
--   id               of the contact, as text
--   isNew            whether it is to be created
--   firstMembership  of the reserved membership ids
--   most             contacts that the account may have; 0 is no limit
--   phone?           digits
--   name?            may be empty
--   email?           may be empty
--   tags?            ids as text: all that it carries from then on
-- Output: 'done'; 'missing'; 'full' when there is no room for one more; 'taken' when the phone number is another contact's; or the
-- id of a tag that is not there
local contact, phones, prefix = unpack(KEYS)
local id, isNew, firstMembership, most, phone, name, email, tags = unpack(cmsgpack.unpack(ARGV[1]), 1, 8)
local before = redis.call('HMGET', contact, 'phone', 'tags')
if not isNew and not before[1] then
  return 'missing'
end
if phone then
  local owner = redis.call('HGET', phones, phone)
  if owner and owner ~= id then
    return 'taken'
  end
end
if isNew and not before[1] and most > 0 and redis.call('HLEN', phones) >= most then
  return 'full'
end
local had, keeps = {}, {}
for tag in string.gmatch(before[2] or '', '%d+') do
  had[#had + 1] = tag
end
if tags then
  for _, tag in ipairs(tags) do
    if redis.call('EXISTS', prefix .. SUFFIX.tag .. tag) == 0 then
      return tag
    end
    keeps[tag] = true
  end
end
if phone then
  if before[1] and before[1] ~= phone then
    redis.call('HDEL', phones, before[1])
  end
  redis.call('HSET', phones, phone, id)
  redis.call('HSET', contact, 'phone', phone)
end
if name or isNew then
  redis.call('HSET', contact, 'name', name or '')
end
if email or isNew then
  redis.call('HSET', contact, 'email', email or '')
end
if tags then
  local now, carries = {}, {}
  for _, tag in ipairs(had) do
    if keeps[tag] then
      now[#now + 1] = tag
      carries[tag] = true
    else
      redis.call('ZREM', prefix .. SUFFIX.tag .. tag .. SUFFIX.members, id)
    end
  end
  for place, tag in ipairs(tags) do
    if not carries[tag] then
      carries[tag] = true
      now[#now + 1] = tag
      redis.call('ZADD', prefix .. SUFFIX.tag .. tag .. SUFFIX.members, string.format('%.0f', firstMembership + place - 1), id)
    end
  end
  redis.call('HSET', contact, 'tags', table.concat(now, ','))
elseif isNew then
  redis.call('HSET', contact, 'tags', '')
end
return 'done'
