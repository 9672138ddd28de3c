import { terminalOf } from '@trestle/common/commands/table.ts'
import { type CommandLoaders, loadAll } from '@trestle/common/lifecycle/command-line.ts'
import { Command } from 'commander'
import type { PaymentsConfig } from '../config.ts'
import { VERSION } from '../version.ts'
import type { Operator } from './operator-command.ts'

interface OtherCommandsOptions {
  /** Called when a command runs, because `--help` needs no settings. */
  readonly load: () => PaymentsConfig
  readonly now: () => Date
  readonly process: NodeJS.Process
}

/** Returns all commands of the service except `serve`. */
export function otherCommands({ load, now, process }: OtherCommandsOptions): CommandLoaders {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const operator: Operator = {
    open: async () => (await import('./operator-deps.ts')).openOperatorDeps(load()),
    print,
    terminal: terminalOf(process.stdout),
  }
  const loaders: CommandLoaders = {
    migrate: async () => {
      const { migrateCommand } = await import('@trestle/service/migrate-command.ts')
      const { migrateOptions } = await import('../migrations.ts')
      return migrateCommand(() => migrateOptions(load()), print)
    },
    'warm-up': async () => {
      const { warmUpCommand } = await import('@trestle/common/commands/warm-up-command.ts')
      const { loadLibraries } = await import('@trestle/jobs/queue.ts')
      return warmUpCommand(() =>
        Promise.all([
          import('./serve.ts'),
          loadLibraries(),
          import('../members/user-token.ts'),
          import('./operator-deps.ts'),
          ...loadAll(loaders),
        ]),
      )
    },
    apps: async () => (await import('./apps.ts')).appsCommand(operator),
    merchants: async () => (await import('./merchants.ts')).merchantsCommand(operator),
    transactions: async () => (await import('./transactions.ts')).transactionsCommand(operator),
    attempts: async () => (await import('./transactions.ts')).attemptsCommand(operator),
    exceptions: async () => (await import('./transactions.ts')).exceptionsCommand(operator),
    fx: async () => (await import('./fx.ts')).fxCommand(operator),
    ledger: async () => (await import('./ledger.ts')).ledgerCommand(operator),
    payouts: async () => (await import('./payouts.ts')).payoutsCommand(operator),
    tasks: async () => (await import('./tasks.ts')).tasksCommand(operator),
    prune: async () => (await import('./tasks.ts')).cleanUpCommand(operator),
    seed: async () => (await import('./seed.ts')).seedCommand(operator),
    listen: async () => (await import('./listen.ts')).listenCommand(operator),
    trigger: async () => (await import('./listen.ts')).triggerCommand(operator),
    deliveries: async () => (await import('./deliveries.ts')).deliveriesCommand(operator),
    adjust: async () => (await import('./merchants.ts')).adjustCommand(operator),
    disputes: async () => (await import('./disputes.ts')).disputesCommand(operator),
    frauds: async () => (await import('./disputes.ts')).fraudsCommand(operator),
    vault: async () => (await import('./vault.ts')).vaultCommand(operator),
    distribute: async () => (await import('./distribute.ts')).distributeCommand(operator, load),
    doctor: async () => {
      const { doctor } = await import('./doctor.ts')
      return new Command('doctor')
        .description(
          'check settings, log file, database, standby, migrations, cluster, clock, mail server, URLs, acquirers, vault keys, webhooks by http, exchange rates, bank accounts, the age of the data about currencies and banks, and dead jobs, and say what to do',
        )
        .action(async () => {
          if (!(await doctor(load, print, now))) process.exitCode = 1
        })
    },
    version: async () => new Command('version').description('print the version').action(() => print(VERSION)),
  }
  return loaders
}
