-- How long until the same request can pass, and until the next token is there: what is too much drains beside the
-- others; with others who leave nothing, as long as a burst needs without them.
local wanted, left = max(cost, 1), tokens * 1000 - others
for what = 1, 2 do
  local micros, much = 0, nil
  if what == 1 and not ok then
    if wanted > burst then micros = -1 else much = owed + wanted * per - capacity end
  elseif what == 2 and owed > 0 then
    much = max(0, owed + min(EXACT, (room + 1) * per) - capacity)
  end
  if much then
    local alone = ceil(much / tokens)
    local longest = part and EXACT or max(alone, ceil(full / tokens))
    if others == 0 then
      micros = alone
    elseif left <= 0 then
      micros = longest
    else
      micros = min(longest, max(alone, min(EXACT, ceil(much / left) * 1000)))
    end
  end
  if what == 1 then wait = micros else reset = micros end
end
