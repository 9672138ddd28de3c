#!/usr/bin/env node
import { configFile, createProgram, runCommandLine } from '@trestle/common/lifecycle/command-line.ts'
import { describeOutage } from '@trestle/service/describe-outage.ts'
import { loadAuthConfig } from './config.ts'
import { VERSION } from './version.ts'

const program = createProgram({
  name: 'auth',
  description: 'Users, sessions and tokens over HTTP. Settings come from AUTH_… variables and .env.',
  version: VERSION,
})

const load = () => loadAuthConfig(process.env, configFile(program))

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
    factors: '/admin/users/:userId/factors of the API',
    providers: '/admin/custom-providers of the API',
  },
  explainFailure: describeOutage,
})
