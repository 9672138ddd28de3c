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

/** The report of a successful import. */
export interface DatabaseImport extends SnapshotImport {
  /** The newest migration of supabase/auth at the source. */
  readonly version: string
  /** Emails that several users share, in lower case. Only the oldest confirmed user can sign in with such an email. */
  readonly sharedEmails: readonly string[]
  /** Users who are admins both at the source and here. */
  readonly admins: readonly AdminGroup[]
  /** Users who cannot sign in at the source but can sign in here. */
  readonly otherInstances: OtherInstances
  /** The users who cannot sign in after the import, by reason, and other rows that could not be carried over unchanged. */
  readonly losses: readonly Loss[]
  /** Tables of supabase/auth with rows that are not copied, because this service does not have their feature. */
  readonly notYetServed: ReadonlyMap<string, number>
  /** Foreign keys of other tables to the users of the source. These tables are not copied. */
  readonly foreignKeys: readonly string[]
  /** Columns that other programs have added to tables of supabase/auth, such as `users.tenant_id`. They are not copied. */
  readonly otherColumns: readonly string[]
}

/** The source of the import. `force` allows a version of supabase/auth that is newer than this release knows. */
interface ImportDatabaseInput extends SourceAddress {
  readonly force: boolean
}

/**
 * Imports the users of another supabase/auth server from one snapshot of its database, in which nothing is written (reference:
 * Importing a database). A later run imports the changes since then. The import is one transaction here, so a killed run has no
 * effect.
 * @throws Error if a database does not fit, or if the source user may do more than read
 */
export async function importDatabase(deps: AdoptionDeps, input: ImportDatabaseInput): Promise<DatabaseImport> {
  const { url, names, sources } = migrateOptions(deps.config)
  const places = importPlacesOf(names)
  // Take the lock before the snapshot. Otherwise a run that waited for the lock would overwrite newer data with older data.
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

/** The data that `import --forget` would drop, for the operator who decides. */
export interface ForgetImportCosts {
  /** The source database of the users, as PostgreSQL identifies it. */
  readonly source: string
  /** The tables of the record by qualified name, with their numbers of rows. */
  readonly rows: ReadonlyMap<string, number>
}

/**
 * Drops the record of an import. Without the record, the next import from the same database cannot find the changes there.
 * @param confirm called before anything is dropped. If it returns `false`, nothing is dropped
 * @returns whether the record was dropped
 * @throws Error if nothing was imported
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
