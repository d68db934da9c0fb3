-- The names of an account's people, in many small hashes that Redis keeps as lists of bytes: a name's hash, a number of 46
-- bits -> the person's other names. There are the more hashes the more names there are (linear hashing): of n of them a name
-- is in number h mod half, the largest power of two up to n; of the first n - half, which are split already, in h mod
-- 2 * half. What the number of the hash tells of h does not stand in the field. Included by the scripts beside this file.
--
-- Names that a hash holds on average. Redis keeps up to 128 as bytes, and one that is not split yet holds a third more.
local LOAD = 64
local BITS = 46

-- How names lie in n hashes.
local function layoutOf(n)
  local half, bits = 1, BITS
  while half * 2 <= n do half, bits = half * 2, bits - 1 end
  local function fieldOf(left) return '>I' .. math.ceil(left / 8) end
  return { half = half, split = n - half, field = fieldOf(bits), splitField = fieldOf(bits - 1) }
end

-- The number of a name's hash, and the field in it.
local function placeOf(h, layout)
  local half = layout.half
  local place = h % half
  if place >= layout.split then return place, struct.pack(layout.field, (h - place) / half) end
  place = h % (2 * half)
  return place, struct.pack(layout.splitField, (h - place) / (2 * half))
end
