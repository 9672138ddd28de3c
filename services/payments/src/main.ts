#!/usr/bin/env node
import { configFile, createProgram, runCommandLine } from '@trestle/common/lifecycle/command-line.ts'
import { describeOutage } from '@trestle/service/describe-outage.ts'
import { loadPaymentsConfig } from './config.ts'
import { VERSION } from './version.ts'

const program = createProgram({
  name: 'payments',
  description: 'Card payments over HTTP. Settings come from PAYMENTS_… variables and .env.',
  version: VERSION,
})

const load = () => loadPaymentsConfig(process.env, configFile(program))

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
  insteadOf: {
    payments: 'transactions, or /transactions of the API',
    captures: '/transactions/:transactionId/captures of the API',
    refunds: '/transactions/:transactionId/refunds of the API',
    voids: '/transactions/:transactionId/voids of the API',
    webhooks: 'listen, deliveries, or /merchants/:merchantId/webhooks of the API',
  },
  explainFailure: describeOutage,
})
