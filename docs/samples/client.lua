-- A client of procpen with Neovim's own JSON-RPC, from the shell:
--   PROCPEN=procpen WORKSPACE=. nvim --clean --headless -c 'luafile client.lua'
--
-- Starts a command in the background, reads what it writes, and kills it.
-- vim.lsp.rpc sends Content-Length headers, so procpen does too.
local function start(program, args)
  local dispatchers = {
    notification = function() end, -- capability.notify and others
    server_request = function() return { allow = false } end, -- the question capability.confirm
  }
  if vim.fn.has('nvim-0.10') == 1 then
    return vim.lsp.rpc.start(vim.list_extend({ program }, args), dispatchers)
  end
  return vim.lsp.rpc.start(program, args, dispatchers)
end

local procpen = start(vim.env.PROCPEN or 'procpen',
                      { 'serve', '--workspace', vim.env.WORKSPACE or '.' })

-- The result of one call.
local function call(method, params)
  local answer
  procpen.request(method, params, function(err, result) answer = { err, result } end)
  assert(vim.wait(90000, function() return answer end, 10), 'no answer to ' .. method)
  assert(answer[1] == nil, vim.inspect(answer[1]))
  return answer[2]
end

local function session()
  local run = call('process.run', { command = 'echo ready; sleep 600', background = true })
  local page = call('process.logs', { process_id = run.process_id, wait_ms = 60000 })
  local stopped = call('process.kill', { process_id = run.process_id })
  io.stdout:write('output: ', vim.trim(page.stdout), '\n', 'state: ', stopped.state, '\n')
end

-- Neovim closes procpen's input when it ends, and that ends procpen and all that it runs.
local ok, why = pcall(session)
if not ok then io.stderr:write(why, '\n') end
vim.cmd(ok and 'qall!' or 'cquit')
