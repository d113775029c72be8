-- A bucket as one theoretical arrival time, with a fraction in 1/tokens of a microsecond.
local function gcra_owed(arrival, fraction, at, tokens)
  return max(0, (arrival - at) * tokens + fraction)
end

local function gcra_arrival(owed, at, tokens)
  local micros = floor(owed / tokens)
  return at + micros, owed - micros * tokens
end
