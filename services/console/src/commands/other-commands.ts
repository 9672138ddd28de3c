import { type Check, checkSettings, runChecks } from '@trestle/common/commands/run-checks.ts'
import { type CommandLoaders, loadAll } from '@trestle/common/lifecycle/command-line.ts'
import { Command } from 'commander'
import type { ConsoleConfig } from '../config.ts'
import { SERVICE_NAMES, type ServiceName } from '../service-calls/service-call.ts'
import { createServiceClient } from '../service-calls/service-client.ts'
import { VERSION } from '../version.ts'

interface OtherCommandsOptions {
  /** Called when a command runs, because `--help` needs no settings. */
  readonly load: () => ConsoleConfig
  readonly process: NodeJS.Process
}

export function otherCommands({ load, process }: OtherCommandsOptions): CommandLoaders {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const loaders: CommandLoaders = {
    'warm-up': async () => {
      const { warmUpCommand } = await import('@trestle/common/commands/warm-up-command.ts')
      return warmUpCommand(() => Promise.all([import('./serve.ts'), ...loadAll(loaders)]))
    },
    doctor: async () =>
      new Command('doctor')
        .description('check settings, services and their operator keys, and say what to do')
        .action(async () => {
          if (!(await doctor(load, print))) process.exitCode = 1
        }),
    version: async () => new Command('version').description('print the version').action(() => print(VERSION)),
  }
  return loaders
}

/** Checks everything that the console needs and prints a line for each check. Resolves to `false` if a check fails. */
async function doctor(load: () => ConsoleConfig, print: (line: string) => void): Promise<boolean> {
  const config = checkSettings(load, print)
  if (config === undefined) return false
  for (const warning of config.warnings) print(`note  ${warning}`)
  const checks = SERVICE_NAMES.flatMap((service) => {
    const access = config.services[service]
    return access === undefined ? [] : [serviceCheck(service, access.url)]
  })
  return runChecks(checks, config, print)
}

/** Checks that a service answers and has operator keys. Without a token it answers 401, and without operator keys 404. */
function serviceCheck(service: ServiceName, url: string): Check<ConsoleConfig> {
  return {
    name: service,
    advice: `start ${service}, correct CONSOLE_${service.toUpperCase()}_URL, or set ${service.toUpperCase()}_OPERATOR_KEYS of ${service}`,
    run: async () => {
      const { send } = createServiceClient({ [service]: url })
      const { status } = await send({ service, method: 'GET', path: '/operator/me', headers: {} })
      if (status === 404) throw new Error('has no operator keys')
      return 'answers, and has operator keys'
    },
  }
}
