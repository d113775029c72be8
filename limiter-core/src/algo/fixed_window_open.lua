-- Brings a counter to the window of `now`, or of the latest time it has seen if that was later; fixed_window.rs says
-- what it all means. In: `value`, `arg`. State: layout, expires, epoch, start, own; then, when others' use has been
-- folded in, `told`: window plus one, known, estimate and rate of two cells (zeros when absent), carry, floor, ceiling
-- plus one, blind plus one (zero when absent), folded, stale_after.
local kind, shadow, count_rejected, cost, limit, cold, e0, e1, e2, e3 = unpack_from('<BBBI8I8I8I8I8I8I8', arg)
local at, own, epoch, since = now, 0, now, 0
local used, ends, bound, told = 0, 0, limit, nil
local live = false
local window1, known1, estimate1, rate1, window2, known2, estimate2, rate2, carry, least, ceiling, blind, folded, stale_after
if value and layout == 3 then
  local _, expires, life, start, count = unpack_from('<BI7I7I7I7', value)
  if (now > start and now or start) < expires then
    live, at, epoch, since, own = true, now > start and now or start, life, start, count
    if size > plain then
      told = string.sub(value, plain + 1)
      window1, known1, estimate1, rate1, window2, known2, estimate2, rate2, carry, least, ceiling, blind, folded,
        stale_after = unpack_from('<I7I7I7I7I7I7I7I7I7I7I7I7I7I7', told)
      at, ends = max(at, folded), folded + stale_after
    end
  end
end
local start, stop
if kind == 3 then
  local length, phase = e0 > 0 and e0 or 1, e1
  if at < phase then
    start, stop = 0, phase
  else
    start = at - (at - phase) % length
    stop = start + length
  end
elseif at < e1 then
  start, stop = e0, e1
elseif at < e2 then
  start, stop = e1, e2
elseif at < e3 then
  start, stop = e2, e3
else
  start, stop = e2, at + max(1, e3 - e2)
end
if live and start < since then start, stop = since, at + 1 end
if start ~= since then own = 0 end
if told then
  local base, rate, from = 0, carry, start
  if window1 == start + 1 then
    base, rate, from = estimate1, rate1, folded
  elseif window2 == start + 1 then
    base, rate, from = estimate2, rate2, folded
  end
  used = base + floor(min(EXACT, rate * floor(max(0, min(at, ends) - from) / 1000)) / 1000000)
  if blind > 0 and at >= ends then
    bound = min(blind - 1, limit)
  else
    local open = max(0, limit - used)
    if ceiling > 0 then open = min(open, ceiling - 1) end
    bound = max(min(least, limit), open)
  end
elseif cold > 0 then
  bound = min(cold - 1, limit)
end
