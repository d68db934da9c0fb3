#!lua flags=allow-oom
-- Adds what a process has counted of a lane, or of the whole installation, in one period. Idempotent. Allowed when Redis is
-- full: that hour is the one that people will examine.
--
-- Keys:
--   fine      HASH  10-second periods of an hour: number of the period -> counts, `a=12,f=1,f.131047=1`; and
--                   `w<writer>` -> number of its latest batch
--   coarse    HASH  5-minute periods of a day
-- Arguments:
--   writer    name of the process
--   number    of the batch; rises
--   finePeriod   number of the period
--   coarsePeriod
--   fineUntil    when the key expires (ms)
--   coarseUntil
--   counts    {{field, value}, ...}
local fine, coarse = unpack(KEYS)
local writer, number, finePeriod, coarsePeriod, fineUntil, coarseUntil, counts = unpack(cmsgpack.unpack(ARGV[1]), 1, 7)
-- Codes that one period counts by themselves; further ones are counted together.
local CODES_MAX = 8

local by = PREFIX.batch .. writer
if tonumber(redis.call('HGET', fine, by) or '0') >= number then return 'OK' end
redis.call('HSET', fine, by, string.format('%.0f', number))

local function add(key, period, untilMs)
  local order, values, codes = {}, {}, 0
  for field, value in string.gmatch(redis.call('HGET', key, period) or '', '([^=,]+)=(%d+)') do
    order[#order + 1] = field
    values[field] = tonumber(value)
    if string.sub(field, 1, 2) == FAILURES.byCode then codes = codes + 1 end
  end
  for _, count in ipairs(counts) do
    local field, value = count[1], count[2]
    if string.sub(field, 1, 2) == FAILURES.byCode and not values[field] then
      if codes >= CODES_MAX then field = FAILURES.byOther end
      codes = codes + 1
    end
    local known = values[field]
    if not known then order[#order + 1] = field end
    -- A gauge: the highest value of the period counts.
    if field == MEASURED.backlog or field == MEASURED.oldestSeconds then
      values[field] = math.max(known or 0, value)
    else
      values[field] = (known or 0) + value
    end
  end
  local stored = {}
  for i, field in ipairs(order) do stored[i] = field .. '=' .. string.format('%.0f', values[field]) end
  redis.call('HSET', key, period, table.concat(stored, ','))
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIREAT', key, string.format('%.0f', untilMs)) end
end

add(fine, finePeriod, fineUntil)
add(coarse, coarsePeriod, coarseUntil)
return 'OK'
