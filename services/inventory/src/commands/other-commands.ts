import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { warmUpCommand } from '@trestle/service/warm-up-command.ts'
import { Command } from 'commander'
import type { InventoryConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { buildOpenApi } from '../openapi.ts'
import { VERSION } from '../version.ts'
import { doctor } from './doctor.ts'
import { type SeedOptions, seed } from './seed.ts'
import { transferCommands } from './transfer.ts'

/**
 * Every command of the service but `serve`.
 * @param load called when a command runs, because `--help` needs no settings
 */
export function otherCommands(load: () => InventoryConfig, process: NodeJS.Process): readonly Command[] {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  return [
    migrateCommand(() => migrateOptions(load()), print),
    warmUpCommand(() => Promise.all([import('./serve.ts'), import('../access/token-verifier.ts'), buildOpenApi()])),
    new Command('doctor')
      .description('check settings, log file, database and migrations, and say what to do')
      .action(async () => {
        if (!(await doctor(load, print))) process.exitCode = 1
      }),
    new Command('seed')
      .description('add sample products for development; a second run adds only the missing ones')
      .requiredOption('--products <count>', 'how many products there should be')
      .option('--stock <quantity>', 'receive this quantity of each that has no stock, at the location MAIN')
      .action((options: SeedOptions) => seed(load(), options, print)),
    ...transferCommands(load, process),
    new Command('version').description('print the version').action(() => print(VERSION)),
  ]
}
