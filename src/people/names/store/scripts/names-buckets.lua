-- The names of an account's people, in many small hashes that Redis keeps as lists of bytes: a name's hash, a number of 46
-- bits -> the person's other names. There are the more hashes the more names there are (linear hashing): of n of them a name
-- is in number h mod half, the largest power of two up to n; of the first n - half, which are split already, in h mod
-- 2 * half. What the number of the hash tells of h does not stand in the field. Included by the scripts beside this file.
--
-- Names that a hash holds on average. Redis keeps up to 128 as bytes, and one that is not split yet holds a third more.
local LOAD = 64
local BITS = 46

local function halfOf(n)
  local half = 1
  while half * 2 <= n do half = half * 2 end
  return half
end

-- The number of the hash, and the field in it.
local function placeOf(h, n, half)
  local of = h % half < n - half and 2 * half or half
  local width = math.ceil((BITS - math.log(of) / math.log(2) - 0.001) / 8)
  return h % of, struct.pack('>I' .. width, math.floor(h / of))
end
