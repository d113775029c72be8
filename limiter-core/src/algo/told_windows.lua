-- Packs what is told of windows as `told`: the two newest windows of those told now and those told before; what is
-- known of a window never shrinks.
local t = {unpack_from('<I8I8I8I8I8I8I8I8I8I8I8I8I8', told_now)}
local cells = {}
for i = 1, 5, 4 do
  local window, known = t[i], t[i + 1]
  if window > 0 then
    if window == window1 then known = max(known, known1) end
    if window == window2 then known = max(known, known2) end
    cells[#cells + 1] = {window, known, max(known, t[i + 2]), t[i + 3]}
  end
end
local function remember(window, known)
  if (window or 0) > 0 and window ~= t[1] and window ~= t[5] then cells[#cells + 1] = {window, known, known, 0} end
end
remember(window1, known1)
remember(window2, known2)
table.sort(cells, function(one, other) return one[1] > other[1] end)
for i = 1, 2 do
  for j = 1, 4 do t[4 * i - 4 + j] = cells[i] and cells[i][j] or 0 end
end
stale_after = t[13]
t[13], t[14] = at, stale_after
told = pack('<I7I7I7I7I7I7I7I7I7I7I7I7I7I7', unpack(t, 1, 14))
