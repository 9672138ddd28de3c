import { type Difference, findDrift } from '@trestle/database/drift.ts'
import {
  type MigrateOptions,
  type MigrationStatus,
  migrateDown,
  migrateUp,
  migrationStatus,
} from '@trestle/database/migrate.ts'
import { type PlannedLock, type PlannedMigration, planMigrations } from '@trestle/database/plan-migrations.ts'
import { Command } from 'commander'

/**
 * The command `migrate [up|down|status|plan|drift]` of a service.
 * @param readOptions called when a command runs, so that `--help` needs no settings
 */
export function migrateCommand(readOptions: () => MigrateOptions, print: (line: string) => void): Command {
  // Before the commands below, which take it over: wrong words are told from failures by the exit code.
  const command = new Command('migrate').exitOverride()
  const printAll = (lines: readonly string[]) => {
    for (const line of lines) print(line)
  }
  command.description('bring the database up to date, or look at its state')
  command
    .command('up', { isDefault: true })
    .description('apply all pending migrations and the grants (also without a word)')
    .action(async () => printAll(describeRun('applied', (await migrateUp(readOptions())).migrations)))
  command
    .command('down')
    .description('take the last migration back, with its data')
    .action(async () => printAll(describeRun('taken back', (await migrateDown(readOptions())).migrations)))
  command
    .command('status')
    .description('list every migration with the time of its run')
    .action(async () => printAll((await migrationStatus(readOptions())).map(describeStatus)))
  command
    .command('plan')
    .description('print the SQL that up would run, and the locks that it takes')
    .action(async () => printAll(describePlan(await planMigrations(readOptions()))))
  command
    .command('drift')
    .description('compare the objects in the database with those that the migrations made; fails when one differs')
    .action(async () => {
      const { objects, differences } = await findDrift(readOptions())
      printAll(differences.flatMap(describeDifference))
      if (differences.length > 0)
        throw new Error(`${differences.length} of ${objects} objects are not as the migrations made them`)
      print(`${objects} objects are as the migrations made them`)
    })
  return command
}

function describeRun(what: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? ['nothing to do'] : names.map((name) => `${what} ${name}`)
}

function describeStatus({ name, executedAt, isKnown }: MigrationStatus): string {
  return `${executedAt ? `applied ${executedAt.toISOString()}` : 'pending'} ${name}${isKnown ? '' : ' (of another version)'}`
}

/** SQL, with what it locks in comments. */
function describePlan(migrations: readonly PlannedMigration[]): readonly string[] {
  const lines = migrations.flatMap(({ name, statements }) => [
    `-- ${name}`,
    ...statements.flatMap(({ sql, locks }) => [...locks.map(describeLock), `${sql};`]),
  ])
  const warnings = lines.filter((line) => line.startsWith(WARNING)).length
  if (lines.length === 0) return ['-- nothing to do']
  return [
    ...lines,
    warnings === 0
      ? '-- holds nobody up'
      : `-- ${warnings} ${warnings === 1 ? 'lock holds' : 'locks hold'} others up: see ${WARNING}`,
  ]
}

const WARNING = '-- !'

function describeLock({ relation, mode, holdsUp, size }: PlannedLock): string {
  if (holdsUp === 'nothing') return `-- ${mode} on ${relation}`
  return `${WARNING} ${mode} on ${relation} (${size}): ${holdsUp} wait until the migration has ended`
}

function describeDifference({ object, made, found }: Difference): readonly string[] {
  if (made === undefined) return [`unexpected ${object}: ${firstLine(found)}`]
  if (found === undefined) return [`missing ${object}: ${firstLine(made)}`]
  const [madeLines, foundLines] = [made.split('\n'), found.split('\n')]
  const place = madeLines.findIndex((line, index) => line !== foundLines[index])
  return [
    `different ${object}`,
    `  made  ${madeLines[place]?.trim() ?? '(nothing more)'}`,
    `  found ${foundLines[place < 0 ? madeLines.length : place]?.trim() ?? '(nothing more)'}`,
  ]
}

function firstLine(text = ''): string {
  return text.split('\n', 1)[0] ?? ''
}
