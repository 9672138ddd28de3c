-- The requests of a load for wrk, as load.ts describes them. Everything comes from the environment; see wrk.ts.
local method, path, body = os.getenv("LOAD_METHOD"), os.getenv("LOAD_PATH"), os.getenv("LOAD_BODY")
local id_max, pause, chain = tonumber(os.getenv("LOAD_ID_MAX")), tonumber(os.getenv("LOAD_PAUSE_MS")), os.getenv("LOAD_CHAIN")
local sequence = tonumber(os.getenv("LOAD_SEQUENCE"))
local headers, tokens = {}, {}
for line in os.getenv("LOAD_HEADERS"):gmatch("[^\n]+") do
  local name, value = line:match("^(.-): (.*)$")
  headers[name] = value
end
if body == "" then body = nil else headers["content-type"] = headers["content-type"] or "application/json" end
if os.getenv("LOAD_TOKENS") ~= "" then
  for line in io.lines(os.getenv("LOAD_TOKENS")) do tokens[#tokens + 1] = line end
end
local first, last = 1, #tokens
math.randomseed(sequence % 1000003)

-- In turn; a chained one is taken out, and comes back as its successor.
local function next_token()
  if last < first then return "" end
  local token = tokens[first]
  tokens[first] = nil
  first = first + 1
  if chain == "" then
    last = last + 1
    tokens[last] = token
  end
  return token
end

local function fill(text, token)
  if not text:find("{", 1, true) then return text end
  return (text:gsub("{token}", function() return token end)
    :gsub("{id}", function() return tostring(math.random(1, id_max)) end)
    :gsub("{sequence}", function()
      sequence = sequence + 1
      return string.format("%.0f", sequence)
    end))
end

local is_fixed = not (path .. (body or "") .. os.getenv("LOAD_HEADERS")):find("{%l+}")
local fixed
function init() if is_fixed then fixed = wrk.format(method, path, headers, body) end end

function request()
  if fixed then return fixed end
  local token = next_token()
  local filled = {} -- A fresh table, since wrk.format writes into it.
  for name, value in pairs(headers) do filled[name] = fill(value, token) end
  return wrk.format(method, fill(path, token), filled, body and fill(body, token))
end

if pause > 0 then
  function delay() return math.random(0, 2 * pause) end
end

if chain ~= "" then
  local pattern = '"' .. chain .. '"%s*:%s*"([^"]+)"'
  function response(status, _, text)
    local token = text:match(pattern)
    if token then
      last = last + 1
      tokens[last] = token
    end
  end
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format('@@{"requestsPerSecond":%.2f,"p50Ms":%.4f,"p99Ms":%.4f,"errors":%d}@@\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.status + e.connect + e.read + e.write + e.timeout))
end
