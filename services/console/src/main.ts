#!/usr/bin/env node
import { configFile, createProgram, runCommandLine } from '@trestle/common/lifecycle/command-line.ts'
import { loadConsoleConfig } from './config.ts'
import { VERSION } from './version.ts'

const program = createProgram({
  name: 'console',
  description:
    'Web pages for the people who run Trestle: users, payments and stock. Settings come from CONSOLE_… variables and .env.',
  version: VERSION,
})

const load = () => loadConsoleConfig(process.env, configFile(program))

await runCommandLine(program, process, {
  serve: async () => {
    const { serve } = await import('./commands/serve.ts')
    await serve(load(), process)
  },
  loadOthers: async () => {
    const { otherCommands } = await import('./commands/other-commands.ts')
    return otherCommands({ load, process })
  },
  insteadOf: { operator: 'auth users assign-role', operators: 'auth users assign-role' },
})
