#!/usr/bin/env node
import { runCommandLine } from '@trestle/common/lifecycle/command-line.ts'
import { Command } from 'commander'
import { loadInventoryConfig } from './config.ts'
import { VERSION } from './version.ts'

const load = () => loadInventoryConfig(process.env)

const program = new Command('inventory')
  .description('Products with free-form attributes, over HTTP. Settings come from INVENTORY_… variables and .env.')
  .version(VERSION)

await runCommandLine(program, process, {
  serve: async () => {
    const config = load()
    const { serve } = await import('./commands/serve.ts')
    await serve(config, process)
  },
  loadOthers: async () => {
    const { otherCommands } = await import('./commands/other-commands.ts')
    return otherCommands({ load, process })
  },
})
