-- A report of the price of a message, as its record stores it: time of the report (base 36), then two characters or JSON.
-- src/model/messages/dated-pricing.ts writes and reads it. Included by the scripts that write it.

local function pricedAt(stored)
  local brace = string.find(stored, '{', 1, true)
  return tonumber(string.sub(stored, 1, brace and brace - 1 or -3), 36) or 0
end

-- Whether this report is newer than the stored one. Of two of the same time the greater text wins, in whatever order they come.
local function isPricedLater(stored, known)
  if not known then return true end
  local at, before = pricedAt(stored), pricedAt(known)
  if at == before then return stored > known end
  return at > before
end

-- What an erasure leaves: the common fields, none of which identifies a person.
local function withoutExtras(stored)
  local brace = string.find(stored, '{', 1, true)
  if not brace then return stored end
  local isRead, said = pcall(cjson.decode, string.sub(stored, brace))
  local kept = {}
  for _, field in ipairs({ 'billable', 'pricing_model', 'type', 'category' }) do
    local value = isRead and said[field]
    if value ~= nil then kept[field] = value end
  end
  return next(kept) ~= nil and string.sub(stored, 1, brace - 1) .. cjson.encode(kept) or nil
end
