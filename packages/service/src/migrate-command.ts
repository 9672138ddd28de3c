import type { FunctionChanges } from '@trestle/database/migrations/functions.ts'
import {
  compareTexts,
  type MigrateOptions,
  type MigrateResult,
  type MigrationStatus,
  migrateDown,
  migrateUp,
  readMigrationStatus,
  reinstallFunctions,
} from '@trestle/database/migrations/migrate.ts'
import { type Difference, findDrift } from '@trestle/database/rehearsal/drift.ts'
import { type PlannedLock, type PlannedMigration, planMigrations } from '@trestle/database/rehearsal/plan-migrations.ts'
import { Command } from 'commander'

/**
 * Creates the command `migrate [up|down|status|plan|drift]` of a service.
 * @param readOptions called when a command runs, so that `--help` needs no settings
 */
export function migrateCommand(readOptions: () => MigrateOptions, print: (line: string) => void): Command {
  // Set before the subcommands, which inherit it. The exit status then tells wrong usage from a failure.
  const command = new Command('migrate').exitOverride()
  const printAll = (lines: readonly string[]) => {
    for (const line of lines) print(line)
  }
  command.description('migrate the database, or show its state')
  command
    .command('up', { isDefault: true })
    .description('apply pending migrations, changed functions and the grants (the default)')
    .option('--functions', 'install the functions of this release alone, also where a later release installed its own')
    .action(async ({ functions }: { readonly functions?: true }) => {
      const run = functions ? reinstallFunctions : migrateUp
      printAll(describeUp(await run(readOptions())))
    })
  command
    .command('down')
    .description('drop the functions, and take the last migration back with its data; up installs the functions again')
    .action(async () => printAll(describeRun('taken back', (await migrateDown(readOptions())).migrations)))
  command
    .command('status')
    .description('list every migration with the time of its run, and what differs among the functions')
    .action(async () => {
      const options = readOptions()
      printAll((await readMigrationStatus(options)).map(describeStatus))
      printAll(describeFunctions(await compareTexts(options)))
    })
  command
    .command('plan')
    .description('print the SQL that up would run, the locks that it takes, and the functions that it would replace')
    .action(async () => {
      const options = readOptions()
      const [planned, changes] = [await planMigrations(options), await compareTexts(options)]
      printAll(describePlan(planned, changes))
    })
  command
    .command('drift')
    .description('compare the objects in the database with those that the migrations make; fails when one differs')
    .action(async () => {
      const { objects, differences } = await findDrift(readOptions())
      printAll(differences.flatMap(describeDifference))
      if (differences.length > 0)
        throw new Error(`${differences.length} of ${objects} objects do not match the migrations`)
      print(`${objects} objects match the migrations`)
    })
  return command
}

function describeUp({ migrations, functions, keptRelease, notes = [] }: MigrateResult): readonly string[] {
  return [
    ...describeRun('applied', migrations).slice(0, functions.length > 0 ? migrations.length : undefined),
    ...(functions.length > 0
      ? [`installed ${functions.length} ${functions.length === 1 ? 'function' : 'functions'}`]
      : []),
    ...(keptRelease === undefined
      ? []
      : [`kept the functions of release ${keptRelease}: migrate up --functions installs those of this release`]),
    ...notes,
  ]
}

function describeRun(what: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? ['nothing to do'] : names.map((name) => `${what} ${name}`)
}

/** Returns the lines about functions: `functions of release 1.4.0 are installed`, then each function that differs. */
function describeFunctions(changes: FunctionChanges | undefined): readonly string[] {
  if (changes === undefined) return []
  const { installed, creates, replaces, drops } = changes
  return [
    installed === undefined ? 'no functions are installed' : `functions of release ${installed} are installed`,
    ...creates.map((name) => `missing function ${name}`),
    ...replaces.map((name) => `different function ${name}`),
    ...drops.map((name) => `function ${name} (of another release)`),
  ]
}

function describeStatus({ name, executedAt, isKnown }: MigrationStatus): string {
  return `${executedAt ? `applied ${executedAt.toISOString()}` : 'pending'} ${name}${isKnown ? '' : ' (of another release)'}`
}

/** Returns the SQL of the plan with its locks in comments, followed by the functions. */
function describePlan(
  migrations: readonly PlannedMigration[],
  changes: FunctionChanges | undefined,
): readonly string[] {
  const lines = migrations.flatMap(({ name, statements }) => [
    `-- ${name}`,
    ...statements.flatMap(({ sql, locks }) => [...locks.map(describeLock), `${sql};`]),
  ])
  const warnings = lines.filter((line) => line.startsWith(WARNING)).length
  const functions = planFunctions(changes)
  if (lines.length === 0) return functions.length === 0 ? ['-- nothing to do'] : functions
  const summary =
    warnings === 0
      ? '-- blocks nobody'
      : `-- ${warnings} ${warnings === 1 ? 'lock blocks' : 'locks block'} others: see ${WARNING}`
  return [...lines, ...functions, summary]
}

function planFunctions(changes: FunctionChanges | undefined): readonly string[] {
  if (changes === undefined) return []
  if (changes.isLater) return [`-- leaves the functions of release ${changes.installed}`]
  return (['creates', 'replaces', 'drops'] as const).flatMap((act) =>
    changes[act].map((name) => `-- ${act} the function ${name}`),
  )
}

const WARNING = '-- !'

function describeLock({ relation, mode, blocks, size }: PlannedLock): string {
  if (blocks === 'nothing') return `-- ${mode} on ${relation}`
  return `${WARNING} ${mode} on ${relation} (${size}): ${blocks} wait until the migration has ended`
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
