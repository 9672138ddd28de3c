import {
  type MigrateOptions,
  migrateDown,
  migrateUp,
  migrationStatus,
  planMigrations,
} from '@trestle/database/migrate.ts'
import { Command } from 'commander'

/**
 * The command `migrate [up|down|status|plan]` of a service.
 * @param readOptions called when a command runs, so that `--help` needs no settings
 */
export function migrateCommand(readOptions: () => MigrateOptions, print: (line: string) => void): Command {
  // Before the commands below, which take it over: wrong words are told from failures by the exit code.
  const command = new Command('migrate').exitOverride()
  command.description('bring the database up to date, or look at its state')
  command
    .command('up', { isDefault: true })
    .description('apply all pending migrations and the grants (also without a word)')
    .action(async () => printNames('applied', (await migrateUp(readOptions())).migrations, print))
  command
    .command('down')
    .description('take the last migration back, with its data')
    .action(async () => printNames('taken back', (await migrateDown(readOptions())).migrations, print))
  command
    .command('status')
    .description('list every migration with the time of its run')
    .action(async () => {
      for (const { name, executedAt } of await migrationStatus(readOptions())) {
        print(`${executedAt ? `applied ${executedAt.toISOString()}` : 'pending'} ${name}`)
      }
    })
  command
    .command('plan')
    .description('print the SQL that up would run')
    .action(async () => {
      for (const { name, statements } of await planMigrations(readOptions())) {
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
