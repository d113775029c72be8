-- Brings a bucket forward to `now`, or to its last change if that was later; bucket.rs says what it all means.
-- In: `value`, `arg`. State: layout, expires, consumed, epoch, time; then `owed`, of a token bucket, or arrival time and
-- fraction, of a GCRA; then, when others' use has been folded in: rate, blind, folded, stale_after, lift, charged.
local kind, shadow, count_rejected, cost, tokens, per, burst, cold, cold_others =
  unpack_from('<BBBI8I8I8I8I8I8', arg)
local full = burst * per
if full > EXACT then full = EXACT end
local at, owed, consumed, epoch = now, 0, 0, now
-- Units per millisecond that go to others now; when the fold is stale, zero without one.
local others, ends = 0, 0
local rate, blind, folded, stale_after, lift, charged
if value and layout == kind then
  local _, expires, own, life, time, level, fraction =
    unpack_from(kind == 1 and '<BI7I7I7I7I7' or '<BI7I7I7I7I7I7', value)
  if time > at then at = time end
  if at < expires then
    consumed, epoch = own, life
    local micros, before = at - time, level
    if kind == 1 then
      owed = level - micros * tokens
    else
      before = (level - time) * tokens + fraction
      owed = (level - at) * tokens + fraction
    end
    if owed < 0 then owed = 0 end
    -- Milliseconds for which others are charged: by a fresh fold, and by a stale one.
    local fresh, stale = 0, 0
    if size > plain then
      rate, blind, folded, stale_after, lift, charged = unpack_from('<I7I7I7I7I7I7', value, plain + 1)
      ends = folded + stale_after
      others = at < ends and rate or blind
      local from, to, last = floor((time - folded) / 1000), floor((at - folded) / 1000), floor(stale_after / 1000)
      fresh = min(to, last) - min(from, last)
      stale = to - from - fresh
    elseif cold > 0 then
      fresh = floor((at - epoch) / 1000) - floor((time - epoch) / 1000)
    end
    if fresh + stale > 0 then
      local fresh_rate, stale_rate = rate or cold_others, blind or 0
      local per_milli, most = tokens * 1000, max(full, owed)
      local counted = min(EXACT, fresh_rate * fresh + stale_rate * stale)
      owed = before + (fresh_rate - per_milli) * fresh + (stale_rate - per_milli) * stale
        - tokens * (micros - 1000 * (fresh + stale))
      if owed > most then
        owed, counted = most, min(EXACT, max(0, tokens * micros + most - before))
      end
      owed = max(0, owed)
      if rate then charged = min(EXACT, charged + counted) end
    end
    if rate then lift = max(0, owed - max(0, max(0, before - lift) - micros * tokens)) end
  else
    at = now
  end
end
local capacity, part = full, cold > 0 and not rate
if part then capacity, others = cold - 1, cold_others end
