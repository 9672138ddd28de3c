import { migrateDown, migrateUp, migrationStatus, planMigrations } from '@trestle/database/migrate.ts'
import { Command } from 'commander'
import type { AuthConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'

/** `auth migrate [up|down|status|plan]`, over AUTH_MIGRATION_DATABASE_URL. */
export function migrateCommand(loadConfig: () => AuthConfig, print: (line: string) => void): Command {
  const options = () => migrateOptions(loadConfig())
  const command = new Command('migrate').description('bring the database up to date, or look at its state')
  command
    .command('up', { isDefault: true })
    .description('apply all pending migrations, the job queue and the grants (also without a word)')
    .action(async () => printNames('applied', (await migrateUp(options())).migrations, print))
  command
    .command('down')
    .description('take the last migration back, with its data')
    .action(async () => printNames('taken back', (await migrateDown(options())).migrations, print))
  command
    .command('status')
    .description('list every migration with the time of its run')
    .action(async () => {
      for (const { name, executedAt } of await migrationStatus(options())) {
        print(`${executedAt ? `applied ${executedAt.toISOString()}` : 'pending'} ${name}`)
      }
    })
  command
    .command('plan')
    .description('print the SQL that up would run')
    .action(async () => {
      for (const { name, statements } of await planMigrations(options())) {
        print(`-- ${name}`)
        for (const statement of statements) print(`${statement};`)
      }
    })
  return command
}

function printNames(what: string, names: readonly string[], print: (line: string) => void): void {
  if (names.length === 0) print('nothing to do')
  for (const name of names) print(`${what} ${name}`)
}
