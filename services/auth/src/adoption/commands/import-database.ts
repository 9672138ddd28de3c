import { printAnswer } from '@trestle/common/commands/table.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { Command, Option } from 'commander'
import type { AdoptionDeps, OpenAdoptionDeps } from '../adoption-record.ts'
import { describeAdmins, describeOtherInstances } from '../report.ts'
import {
  type DatabaseImport,
  type ForgetImportCosts,
  forgetImport,
  importDatabase,
} from '../use-cases/import-database.ts'
import { type Conversation, confirm } from './adopt.ts'

interface ImportFlags {
  readonly fromDatabase?: string
  readonly sourceSchema: string
  readonly forget?: true
  readonly force?: true
  readonly yes?: true
  readonly json?: true
}

/** The number of held-back users, flows and providers that the text output names. */
const NAMED_MAX = 20

/** `auth import`: imports the users of another supabase/auth server. A later run imports their changes. */
export function importCommand(open: OpenAdoptionDeps, { print, ask }: Conversation): Command {
  return new Command('import')
    .exitOverride()
    .description(
      'take over the users of another server of supabase/auth, from its database; again, what has changed since',
    )
    .option('--from-database <url>', 'the database of that server; it is only read. A password may stand in PGPASSWORD')
    .option('--source-schema <name>', 'the schema of supabase/auth there', 'auth')
    .addOption(new Option('--forget', 'drop what a further run needs').conflicts(['fromDatabase', 'force']))
    .option('--force', 'read a version of supabase/auth that is newer than this release knows')
    .option('--yes', 'do not ask before --forget')
    .option('--json', 'print one JSON document')
    .action(async (flags: ImportFlags, command: Command) => {
      const { fromDatabase: url, forget } = flags
      if (url === undefined && !forget) command.error("error: required option '--from-database <url>' not specified")
      const deps = await open()
      const work = async () => {
        if (url === undefined) return forgetRuns(deps, flags, { print, ask })
        const startMs = performance.now()
        const done = await importDatabase(deps, { url, schema: flags.sourceSchema, force: flags.force === true })
        const seconds = (performance.now() - startMs) / 1_000
        for (const line of flags.json ? printAnswer(view(done, seconds), 'json') : describe(done, seconds)) print(line)
        requireNothingHeldBack(done)
      }
      await work().finally(() => deps.close())
    })
}

/** Drops the record of the import. With `--json`, the command asks no question, so the calling program must pass `--yes`. */
async function forgetRuns(deps: AdoptionDeps, { json, yes }: ImportFlags, { print, ask }: Conversation): Promise<void> {
  const conversation = json ? { print: () => {}, ask: async () => undefined } : { print, ask }
  const question = 'Drop this, without a way back?'
  const isDone = await forgetImport(deps, (costs) =>
    confirm(conversation, { lines: describeForgotten(costs), question, isAnswered: yes === true }),
  )
  if (json) return print('{"forgotten":true}')
  print(isDone ? 'dropped what a further import needs' : 'nothing changed')
}

/** Names from the source may come from strangers, so they are made printable. */
function describeForgotten({ source, rows }: ForgetImportCosts): readonly string[] {
  return [
    `the users came from the database ${source}; no run of auth import continues afterwards`,
    ...[...rows].map(([table, count]) => `drops      ${table}: ${count} rows`),
  ].map(printable)
}

/** @throws Error if something has changed on both sides */
function requireNothingHeldBack({ heldBack }: DatabaseImport): void {
  if (heldBack.length > 0)
    throw new Error(
      `${heldBack.length} of the users, flows and providers that have changed at the source were not taken: they stay as they are here`,
    )
}

function view({ heldBack, notYetServed, ...rest }: DatabaseImport, seconds: number): object {
  const { version, tables, leftProviders, sharedEmails, admins, otherInstances, losses, foreignKeys, otherColumns } =
    rest
  return {
    migration: version,
    tables,
    held_back: heldBack,
    left_providers: leftProviders,
    shared_emails: sharedEmails,
    admins,
    other_instances: otherInstances,
    losses,
    not_served: [...notYetServed].map(([table, rows]) => ({ table, rows })),
    foreign_keys: foreignKeys,
    other_columns: otherColumns,
    seconds: Number(seconds.toFixed(1)),
  }
}

/** Texts from the source may come from strangers, so they are made printable. */
function describe(done: DatabaseImport, seconds: number): readonly string[] {
  const { version, tables, heldBack, leftProviders, sharedEmails, admins, losses, notYetServed } = done
  const more = heldBack.length - NAMED_MAX
  return [
    `migration  ${version}`,
    ...tables.map(
      ({ table, added, changed, deleted }) =>
        `rows       ${table}: ${added} added, ${changed} changed, ${deleted} deleted`,
    ),
    ...[...notYetServed].map(([table, count]) => `not served ${table}: ${count} rows are not copied`),
    ...done.foreignKeys.map((key) => `not copied the table of the foreign key ${key}`),
    ...done.otherColumns.map((each) => `not copied the column ${each}`),
    ...leftProviders.map((each) => `not copied the provider ${each}: create it again by POST /admin/custom-providers`),
    ...losses.map(({ what, count }) => `lost       ${count} ${what}`),
    ...sharedEmails.map((email) => `shared     ${email}: the oldest confirmed user keeps it`),
    ...admins.map(describeAdmins),
    ...describeOtherInstances(done.otherInstances),
    ...heldBack.slice(0, NAMED_MAX).map(({ kind, id, reason }) => `not taken  ${kind} ${id} ${reason}`),
    ...(more > 0 ? [`not taken  ${more} more, which --json lists`] : []),
    `took       ${seconds.toFixed(1)} s`,
  ].map(printable)
}
