-- The names of an account's people lie in buckets, small HASHes that Redis keeps as lists of bytes: digest of a name, a number
-- of 46 bits -> the person's other names. Buckets are split one by one as names come (linear hashing). With n buckets the
-- digest d is in number d mod half, the largest power of two up to n; in the first n - half, which are split already, in
-- d mod 2 * half. The field omits the bits of d that the bucket's number gives. Included by the scripts beside this file.
--
-- Names that a bucket holds on average. Redis keeps up to 128 as bytes, and one that is not split yet holds a third more.
local LOAD = 64
local BITS = 46

-- How names lie in n buckets.
local function layoutOf(n)
  local half, bits = 1, BITS
  while half * 2 <= n do half, bits = half * 2, bits - 1 end
  local function fieldOf(left) return '>I' .. math.ceil(left / 8) end
  return { half = half, split = n - half, field = fieldOf(bits), splitField = fieldOf(bits - 1) }
end

-- The number of the bucket that has the name with this digest, and the field in it.
local function bucketOf(d, layout)
  local half = layout.half
  local bucket = d % half
  if bucket >= layout.split then return bucket, struct.pack(layout.field, (d - bucket) / half) end
  bucket = d % (2 * half)
  return bucket, struct.pack(layout.splitField, (d - bucket) / (2 * half))
end
