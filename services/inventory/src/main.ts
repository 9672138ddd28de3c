#!/usr/bin/env node
import { configFile, createProgram, runCommandLine } from '@trestle/common/lifecycle/command-line.ts'
import { describeOutage } from '@trestle/service/describe-outage.ts'
import { loadInventoryConfig } from './config.ts'
import { VERSION } from './version.ts'

const program = createProgram({
  name: 'inventory',
  description:
    'Products with free-form attributes and their stock, over HTTP and by commands. Settings come from INVENTORY_… variables and .env.',
  version: VERSION,
})

const load = () => loadInventoryConfig(process.env, configFile(program))

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
  insteadOf: {
    products: 'import, export, or /products of the API',
    reservations: '/reservations of the API',
    movements: 'stock, or /movements of the API',
    transfer: 'stock transfer',
    'stock move': 'stock transfer, or /movements of the API',
    'stock add': 'stock receive',
    'stock set': 'stock count',
    'stock show': 'stock list --sku',
    'stock ship': '/movements of the API',
    'stock reserve': '/reservations of the API',
    'stock release': '/reservations of the API',
    'stock commit': '/reservations/commit of the API',
  },
  explainFailure: describeOutage,
})
