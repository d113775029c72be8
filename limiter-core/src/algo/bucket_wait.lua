-- How long until the same request can pass, and until the next token is there: what is too much drains beside the
-- others; with others who leave nothing, as long as a burst needs without them.
local missing, next_missing = 0, 0
if not ok then
  local wanted = cost > 0 and cost or 1
  if wanted > burst then wait = -1 else missing = owed + wanted * per - capacity end
end
if owed > 0 then next_missing = max(0, owed + min(EXACT, (room + 1) * per) - capacity) end
if others == 0 then
  if missing > 0 then wait = ceil(missing / tokens) end
  if next_missing > 0 then reset = ceil(next_missing / tokens) end
else
  local left = tokens * 1000 - others
  for what = 1, 2 do
    local much = what == 1 and missing or next_missing
    local alone = ceil(much / tokens)
    local micros = part and EXACT or max(alone, ceil(full / tokens))
    if left > 0 then micros = min(micros, max(alone, min(EXACT, ceil(much / left) * 1000))) end
    if what == 1 and much > 0 then wait = micros end
    if what == 2 and much > 0 then reset = micros end
  end
end
