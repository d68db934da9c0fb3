-- How many recipients wait in chunks of a lane: those of running campaigns that have no state yet. A recipient with a
-- state was claimed, and waits, if at all, in a job of their own; chunks of a campaign that does not run are dropped.
--
-- `chunks`: ids of chunks; some may name the same places. `states`: of the campaigns of the lane, by their number
-- as text. `campaigns`: what the keys of campaigns begin with.
local function placesInChunks(chunks, states, campaigns)
  local spans, waits = {}, 0
  for _, id in ipairs(chunks) do
    local run, from, count = string.match(id, '^chunk_(%d+)_(%d+)_(%d+)_')
    if run and states[run] == 'running' then
      spans[#spans + 1] = { run = run, from = tonumber(from), to = tonumber(from) + tonumber(count) }
    end
  end
  table.sort(spans, function(one, other)
    return one.run < other.run or one.run == other.run and one.from < other.from
  end)
  local run, seen
  for _, span in ipairs(spans) do
    if span.run ~= run then
      run, seen = span.run, 0
    end
    local from = math.max(span.from, seen)
    if from < span.to then
      seen = span.to
      -- Half a byte each, the even place first. Whole bytes are counted, and places at the ends taken off again.
      local first, last = math.floor(from / 2), math.floor((span.to - 1) / 2)
      local bytes = redis.call('GETRANGE', campaigns .. run .. SUFFIX.states, first, last)
      bytes = bytes .. string.rep('\0', last - first + 1 - #bytes)
      local even, odd, _ = #bytes, #bytes, nil
      -- In most waiting chunks nobody was claimed, and this check takes a tenth of the time.
      if string.find(bytes, '[^%z]') then
        _, even = string.gsub(bytes, '[%z\1-\15]', '')
        _, odd = string.gsub(bytes, '[%z\16\32\48\64\80\96\112\128\144\160\176\192\208\224\240]', '')
      end
      waits = waits + even + odd
      if from % 2 == 1 and string.byte(bytes, 1) < 16 then waits = waits - 1 end
      if span.to % 2 == 1 and string.byte(bytes, -1) % 16 == 0 then waits = waits - 1 end
    end
  end
  return waits
end
