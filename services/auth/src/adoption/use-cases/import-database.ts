import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { compareMigrations, inLatest } from '@trestle/database/migrations/migrator.ts'
import { migrateOptions } from '../../migrations.ts'
import type { AdoptionDeps } from '../adoption-record.ts'
import { requireReadable } from '../check/find-obstacles.ts'
import { countTokensWithoutSession } from '../copy/copy-refresh-tokens.ts'
import { countRecorded, dropImport, importPlacesOf, openRecord } from '../import/import-record.ts'
import { importSnapshot, type SnapshotImport } from '../import/import-snapshot.ts'
import {
  listForeignKeys,
  requireHarmlessReader,
  type Source,
  type SourceAddress,
  setFormats,
  withSource,
} from '../import/source-database.ts'
import { listSharedEmails } from '../prepare/begin-adoption.ts'
import {
  type AdminGroup,
  listAdmins,
  listBrokenValues,
  listClientSessions,
  listClosedSecrets,
  listLostSignIns,
  listMalformedPhones,
  listOtherInstances,
  type OtherInstances,
} from '../report.ts'
import { countRows, type Loss, listOtherColumns, UNSERVED } from '../upstream-tables.ts'

/** The report of an import that has succeeded. */
export interface DatabaseImport extends SnapshotImport {
  /** The newest migration of supabase/auth at the source. */
  readonly version: string
  /** Emails of which several users have one, in lower case. The oldest confirmed user of each keeps it for sign-ins. */
  readonly sharedEmails: readonly string[]
  /** Users of the source who are admins here, as they are there. */
  readonly admins: readonly AdminGroup[]
  /** Users of the source who cannot sign in there, and can here. */
  readonly otherInstances: OtherInstances
  /** The users who cannot sign in afterwards, by reason, and other rows that do not carry over as they are. */
  readonly losses: readonly Loss[]
  /** Tables of supabase/auth with rows that are not copied, because this service does not serve their feature. */
  readonly notYetServed: ReadonlyMap<string, number>
  /** Foreign keys of other tables to the users of the source. These tables are not copied. */
  readonly foreignKeys: readonly string[]
  /** Columns that others have added to tables of supabase/auth, such as `users.tenant_id`. They are not copied. */
  readonly otherColumns: readonly string[]
}

/** The source. `force`: whether to read a version of supabase/auth that is newer than this release knows. */
interface ImportDatabaseInput extends SourceAddress {
  readonly force: boolean
}

/**
 * Imports the users of another server of supabase/auth from one snapshot of its database, in which nothing is written (reference:
 * Importing a database). A later run takes the changes since. All of it is one transaction here: a run that was killed has done
 * nothing.
 * @throws Error if a database does not fit, or if the user of the source may do more there than read
 */
export async function importDatabase(deps: AdoptionDeps, input: ImportDatabaseInput): Promise<DatabaseImport> {
  const { url, names, sources } = migrateOptions(deps.config)
  const places = importPlacesOf(names)
  // The lock comes before the snapshot: otherwise a run that waited would write an older state over a newer one.
  return underLock({ url, names }, (db) =>
    withSource(input, async (source) => {
      await requireHarmlessReader(source)
      const version = await requireReadable(source.db, { names: source.names, force: input.force })
      const description = await describeSource(deps, source)
      const { pending } = await compareMigrations(db, { names, sources })
      if (pending.length > 0)
        throw new Error(`the schema ${names.schema} of this service is not up to date: run auth migrate`)
      const done = await inLatest(db).execute(async (trx) => {
        await setFormats(trx)
        const staging = { trx, places, source }
        return importSnapshot(deps, staging, await openRecord(staging))
      })
      return { version, ...done, ...description, losses: [...description.losses, ...done.losses] }
    }),
  )
}

async function describeSource(
  { config: { jwt, compatibility }, encryptionKeys }: AdoptionDeps,
  source: Source,
): Promise<Omit<DatabaseImport, 'version' | Exclude<keyof SnapshotImport, 'losses'>>> {
  const { db } = source
  const unserved = await countRows(db, source, UNSERVED)
  return {
    sharedEmails: await listSharedEmails(db, source.names),
    admins: await listAdmins(db, source, jwt.adminRoles),
    otherInstances: await listOtherInstances(db, source),
    losses: [
      ...(await listLostSignIns(db, source, jwt.audience)),
      ...(await listClosedSecrets(db, source, encryptionKeys)),
      ...(await listBrokenValues(db, source)),
      ...(await listClientSessions(db, source, 'they are not copied')),
      ...describeTokensWithoutSession(await countTokensWithoutSession(db, source)),
      ...(await listMalformedPhones(db, source, { areFound: compatibility.findUserByMalformedPhone })),
    ],
    notYetServed: new Map([...unserved].filter(([, count]) => count > 0)),
    foreignKeys: await listForeignKeys(source),
    otherColumns: await listOtherColumns(source.db, source.names),
  }
}

function describeTokensWithoutSession(count: number): readonly Loss[] {
  return count === 0 ? [] : [{ what: 'refresh tokens from before sessions: their users sign in again', count }]
}

/** The data that `import --forget` would drop, for the operator who decides on it. */
export interface ForgetImportCosts {
  /** The database that the users came from, as PostgreSQL identifies it. */
  readonly source: string
  /** The tables of the record, with their schema, and how many rows each has. */
  readonly rows: ReadonlyMap<string, number>
}

/**
 * Drops the record of an import. The next import from the same database needs it to find the changes there.
 * @param confirm asked before anything is dropped; false drops nothing
 * @returns whether it was done
 * @throws Error where nothing was imported
 */
export async function forgetImport(
  { config }: Pick<AdoptionDeps, 'config'>,
  confirm: (costs: ForgetImportCosts) => Promise<boolean>,
): Promise<boolean> {
  const { url, names } = migrateOptions(config)
  const places = importPlacesOf(names)
  return underLock({ url, names }, async (db) => {
    const costs = await countRecorded(db, places)
    if (costs === undefined)
      throw new Error('nothing was imported from another database, or its record was dropped before')
    if (!(await confirm(costs))) return false
    await dropImport(db, places)
    return true
  })
}
