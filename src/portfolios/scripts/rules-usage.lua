#!lua flags=allow-oom
-- How much of a portfolio's budget is used.
--
-- Keys:
--   budget           HASH    of the people of the last 24 hours, see rules-budget.lua
--   counts           STRING  ring: how many were counted in each period
-- Arguments:
--   people           what the keys of hashes of people begin with
--   most             how many campaigns may write to
--   given?           the time (ms), where it is not that of Redis
-- Output: {used, when fewer than `most` are counted (ms); 0: now}
-- include rules-budget
local budget, counts = unpack(KEYS)
local people, most, given = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local b = openBudget(budget, counts, people, timeOf(given))
closeBudget(b)
return { b.used, b.used < most and 0 or roomAt(b, most) }
