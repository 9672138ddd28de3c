import { loadLibraries } from '@trestle/jobs/queue.ts'
import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { warmUpCommand } from '@trestle/service/warm-up-command.ts'
import { Command } from 'commander'
import type { PaymentsConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { VERSION } from '../version.ts'
import { adjustCommand } from './adjust.ts'
import { appCommand } from './app.ts'
import { attemptsCommand } from './attempts.ts'
import { disputeCommand } from './dispute.ts'
import { doctor } from './doctor.ts'
import { exceptionsCommand } from './exceptions.ts'
import { fraudCommand } from './fraud.ts'
import { fxCommand } from './fx.ts'
import { ledgerCommand } from './ledger.ts'
import { merchantCommand } from './merchant.ts'
import { openOperatorDeps } from './operator-database.ts'
import { payoutCommand } from './payout.ts'
import { seedCommand } from './seed.ts'
import { cleanUpCommand, tasksCommand } from './tasks.ts'
import { vaultCommand } from './vault.ts'
import { webhookCommand } from './webhook.ts'

interface OtherCommandsOptions {
  /** Called when a command runs, because `--help` needs no settings. */
  readonly load: () => PaymentsConfig
  readonly now: () => Date
  readonly process: NodeJS.Process
}

/** The commands of operators, in the order of `--help`. */
const operatorCommands = [
  appCommand,
  merchantCommand,
  attemptsCommand,
  exceptionsCommand,
  fxCommand,
  ledgerCommand,
  payoutCommand,
  tasksCommand,
  cleanUpCommand,
  seedCommand,
  webhookCommand,
  adjustCommand,
  disputeCommand,
  fraudCommand,
  vaultCommand,
] as const

/** All commands of the service except `serve`. */
export function otherCommands({ load, now, process }: OtherCommandsOptions): readonly Command[] {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const operator = { open: () => openOperatorDeps(load()), print }
  return [
    migrateCommand(() => migrateOptions(load()), print),
    warmUpCommand(() => Promise.all([import('./serve.ts'), loadLibraries(), import('../members/user-token.ts')])),
    ...operatorCommands.map((command) => command(operator)),
    new Command('doctor')
      .description('try settings, database, mail server, clock, URLs, rates and jobs, and say what to do')
      .action(async () => {
        if (!(await doctor(load, print, now))) process.exitCode = 1
      }),
    new Command('version').description('print the version').action(() => print(VERSION)),
  ]
}
