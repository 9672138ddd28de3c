#!/usr/bin/env node
import { runCommandLine } from '@trestle/common/server/command-line.ts'
import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { warmUpCommand } from '@trestle/service/warm-up-command.ts'
import { Command } from 'commander'
import { doctor } from './commands/doctor.ts'
import { type SeedOptions, seed } from './commands/seed.ts'
import { serve } from './commands/serve.ts'
import { transferCommands } from './commands/transfer.ts'
import { loadInventoryConfig } from './config.ts'
import { migrateOptions } from './migrations.ts'
import { buildOpenApi } from './openapi.ts'
import { serviceVersion } from './version.ts'

const loadConfig = () => loadInventoryConfig(process.env)
const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const program = new Command('inventory')
  .description('Products with free-form attributes, over HTTP. Settings come from INVENTORY_… variables and .env.')
  .version(serviceVersion)

program
  .command('serve', { isDefault: true })
  .description('run the HTTP service (also without a command)')
  .action(() => serve(loadConfig(), process))
program.addCommand(migrateCommand(() => migrateOptions(loadConfig()), print))
// Controllers are found when it starts; without this each start would strip their types.
program.addCommand(warmUpCommand(buildOpenApi))
program
  .command('doctor')
  .description('try settings, log file, database and migrations, and say what to do')
  .action(async () => {
    if (!(await doctor(loadConfig, print))) process.exitCode = 1
  })
program
  .command('seed')
  .description('add sample products for development; running it again adds the missing ones only')
  .requiredOption('--products <count>', 'how many products there should be')
  .option('--stock <quantity>', 'receive so many of each that has no stock, in the main warehouse')
  .action((options: SeedOptions) => seed(loadConfig(), options, print))
for (const command of transferCommands(loadConfig, process)) program.addCommand(command)
program
  .command('version')
  .description('print the version')
  .action(() => {
    print(serviceVersion)
  })

await runCommandLine(program, process)
