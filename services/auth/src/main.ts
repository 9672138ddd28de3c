#!/usr/bin/env node
import { runCommandLine } from '@trestle/common/lifecycle/command-line.ts'
import { Command } from 'commander'
import { loadAuthConfig } from './config.ts'
import { VERSION } from './version.ts'

const program = new Command('auth')
  .description('Users, sessions and tokens over HTTP. Settings come from AUTH_… variables and .env.')
  .option('-c, --config <file>', 'read this env file instead of .env')
  .version(VERSION)

const load = () => loadAuthConfig(process.env, program.opts<{ config?: string }>().config)

await runCommandLine(program, process, {
  serve: async () => {
    const config = load()
    const { serve } = await import('./commands/serve.ts')
    await serve(config, process)
  },
  loadOthers: async () => {
    const { otherCommands } = await import('./commands/other-commands.ts')
    return otherCommands({ load, now: () => new Date(), process })
  },
})
