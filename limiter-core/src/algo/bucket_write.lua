-- Writes a bucket as it stands at `at`, until it tells nothing any more.
local micros
if part then
  micros = min(EXACT, ceil(owed / (tokens * 1000 - others)) * 1000)
else
  micros = ceil(owed / tokens)
end
local expires, state = at + micros, nil
if ends > expires then expires = ends end
if kind == 1 then
  state = pack('<BI7I7I7I7I7', 1, expires, consumed, epoch, at, owed)
else
  local whole = floor(owed / tokens)
  state = pack('<BI7I7I7I7I7I7', 2, expires, consumed, epoch, at, at + whole, owed - whole * tokens)
end
if rate then state = state .. pack('<I7I7I7I7I7I7', rate, blind, folded, stale_after, lift, charged) end
call('SET', key, state, 'PX', ceil((expires - now) / 1000) + grace)
