#!/usr/bin/env node
import { runCommandLine } from '@trestle/common/server/command-line.ts'
import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { warmUpCommand } from '@trestle/service/warm-up-command.ts'
import { Command } from 'commander'
import { adjustCommand } from './commands/adjust.ts'
import { appCommand } from './commands/app.ts'
import { attemptsCommand } from './commands/attempts.ts'
import { disputeCommand } from './commands/dispute.ts'
import { doctor } from './commands/doctor.ts'
import { exceptionsCommand } from './commands/exceptions.ts'
import { fraudCommand } from './commands/fraud.ts'
import { fxCommand } from './commands/fx.ts'
import { ledgerCommand } from './commands/ledger.ts'
import { merchantCommand } from './commands/merchant.ts'
import { payoutCommand } from './commands/payout.ts'
import { seedCommand } from './commands/seed.ts'
import { serve } from './commands/serve.ts'
import { pruneCommand, tasksCommand } from './commands/tasks.ts'
import { vaultCommand } from './commands/vault.ts'
import { webhookCommand } from './commands/webhook.ts'
import { loadPaymentsConfig } from './config.ts'
import { openOperatorDeps } from './deps.ts'
import { migrateOptions } from './migrations.ts'
import { serviceVersion } from './version.ts'

const loadConfig = () => loadPaymentsConfig(process.env)
const print = (line: string) => process.stdout.write(`${line}\n`)
const operator = { open: () => openOperatorDeps(loadConfig()), print }

const program = new Command('payments')
  .description('Card payments over HTTP. Settings come from PAYMENTS_… variables and .env.')
  .version(serviceVersion)

program
  .command('serve', { isDefault: true })
  .description('run the HTTP service (also without a command)')
  .action(() => serve(loadConfig(), process))
program.addCommand(migrateCommand(() => migrateOptions(loadConfig()), print))
program.addCommand(warmUpCommand())
for (const command of [
  appCommand,
  merchantCommand,
  attemptsCommand,
  exceptionsCommand,
  fxCommand,
  ledgerCommand,
  payoutCommand,
  tasksCommand,
  pruneCommand,
  seedCommand,
  webhookCommand,
  adjustCommand,
  disputeCommand,
  fraudCommand,
  vaultCommand,
])
  program.addCommand(command(operator))
program
  .command('doctor')
  .description('try settings, database, mail server, clock, URLs, rates and jobs, and say what to do')
  .action(async () => {
    if (!(await doctor(loadConfig, print, () => new Date()))) process.exitCode = 1
  })
program
  .command('version')
  .description('print the version')
  .action(() => {
    print(serviceVersion)
  })

await runCommandLine(program, process)
