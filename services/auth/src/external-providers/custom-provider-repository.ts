import { type Selectable, sql } from 'kysely'
import type { CustomProvidersTable, Db, Trx } from '../database.ts'
import { customProviderNotFound } from '../external-errors.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { EncryptedSecret } from '../secrets/encrypted-secret.ts'
import { CustomProviderSettings, type Subjects, subjectsOf } from './custom-provider.ts'

export interface CustomProvider {
  readonly id: string
  readonly identifier: string
  readonly secret: EncryptedSecret
  readonly settings: CustomProviderSettings
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

const ROWS_MAX = 1_000

/** Lists providers of one type or of all types, enabled and disabled, sorted by identifier. */
export async function listCustomProviders(db: Db, type: string | undefined): Promise<readonly CustomProvider[]> {
  const query = db.selectFrom('custom_oauth_providers').selectAll().orderBy('identifier').limit(ROWS_MAX)
  const rows = await (type === undefined ? query : query.where(sql`settings ->> 'provider_type'`, '=', type)).execute()
  return rows.map(toCustomProvider)
}

/** Finds a provider by its identifier, enabled or not. `undefined` if there is none. Its secret stays encrypted. */
export async function findCustomProvider(db: Db, identifier: string): Promise<CustomProvider | undefined> {
  const row = await db
    .selectFrom('custom_oauth_providers')
    .selectAll()
    .where('identifier', '=', identifier)
    .executeTakeFirst()
  return row && toCustomProvider(row)
}

export async function getCustomProvider(db: Db, identifier: string): Promise<CustomProvider> {
  return requireProvider(await findCustomProvider(db, identifier))
}

/** Counts the providers, and blocks insertions by other transactions until this transaction ends. */
export async function countLockedProviders(trx: Trx): Promise<number> {
  await sql`LOCK TABLE ${sql.table('custom_oauth_providers')} IN SHARE ROW EXCLUSIVE MODE`.execute(trx)
  const { count } = await trx
    .selectFrom('custom_oauth_providers')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Inserts a provider. Call it after `countLockedProviders`, whose lock enforces the limit. */
export async function insertCustomProvider(
  trx: Trx,
  provider: Pick<CustomProvider, 'id' | 'identifier' | 'secret' | 'settings'>,
  at: Date,
): Promise<CustomProvider> {
  const { id, identifier, secret, settings } = provider
  const row = await trx
    .insertInto('custom_oauth_providers')
    .values({ id, identifier, client_secret: secret, settings: { ...settings }, created_at: at, updated_at: at })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toCustomProvider(row)
}

/** Changes a provider. @returns `undefined` if another request has changed it since it was read */
export async function updateCustomProvider(
  db: Db,
  { id, updatedAt }: Pick<CustomProvider, 'id' | 'updatedAt'>,
  changed: Pick<CustomProvider, 'secret' | 'settings'>,
  at: Date,
): Promise<CustomProvider | undefined> {
  const row = await db
    .updateTable('custom_oauth_providers')
    .set({
      client_secret: changed.secret,
      settings: { ...changed.settings },
      // Always later than the previous value, even if the clock has not advanced.
      updated_at: sql<string>`greatest(${at}::timestamptz, updated_at + interval '1 microsecond')`,
    })
    .where('id', '=', id)
    .where('updated_at', '=', updatedAt)
    .returningAll()
    .executeTakeFirst()
  return row && toCustomProvider(row)
}

/**
 * Deletes a provider and records the meaning of its subjects. Its identities stay, but nobody can sign in by them.
 * @returns the id of the provider
 */
export async function deleteCustomProvider(trx: Trx, identifier: string): Promise<string> {
  const query = trx.deleteFrom('custom_oauth_providers').where('identifier', '=', identifier)
  const { id, settings } = toCustomProvider(requireProvider(await query.returningAll().executeTakeFirst()))
  const { issuer, claim: subject_claim } = subjectsOf(settings)
  const kept = trx.insertInto('deleted_providers').values({ identifier, issuer, subject_claim })
  await kept.onConflict((conflict) => conflict.column('identifier').doUpdateSet({ issuer, subject_claim })).execute()
  return id
}

/** Returns the meaning of a provider's subjects, locked until the transaction ends. `undefined` if there is no provider. */
export async function lockSubjects(trx: Trx, identifier: string): Promise<Subjects | undefined> {
  const query = trx.selectFrom('custom_oauth_providers').selectAll().where('identifier', '=', identifier)
  const row = await query.forShare().executeTakeFirst()
  return row && subjectsOf(toCustomProvider(row).settings)
}

/** Returns the meaning of a deleted provider's subjects. `undefined` if this service has deleted no such provider. */
export async function findDeletedSubjects(db: Db, identifier: string): Promise<Subjects | undefined> {
  const query = db.selectFrom('deleted_providers').select(['issuer', 'subject_claim as claim'])
  return query.where('identifier', '=', identifier).executeTakeFirst()
}

function requireProvider<Found>(provider: Found | undefined): Found {
  if (provider === undefined) throw customProviderNotFound()
  return provider
}

function toCustomProvider(row: Selectable<CustomProvidersTable>): CustomProvider {
  return {
    id: row.id,
    identifier: row.identifier,
    secret: row.client_secret,
    settings: CustomProviderSettings.parse(row.settings),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
