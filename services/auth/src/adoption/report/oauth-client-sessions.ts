import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { readColumns } from '../../schema/catalog.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import type { Loss } from '../upstream-tables.ts'

/**
 * A condition on rows of `sessions`: the session is a sign-in of the user. supabase/auth also gives sessions to OAuth clients,
 * which act for the user within a scope.
 * @param alias of the table in the statement
 * @returns `true` where the version knows no clients
 */
export async function isOwnSession(
  db: QueryExecutorProvider,
  { names }: Pick<AdoptionPlaces, 'names'>,
  alias: string,
): Promise<RawBuilder<unknown>> {
  const columns = await readColumns(db, names.schema, 'sessions')
  return columns.has('oauth_client_id') ? sql`${sql.ref(`${alias}.oauth_client_id`)} IS NULL` : sql`true`
}

/** How many sessions belong to OAuth clients. @param fate what becomes of them */
export async function listClientSessions(
  db: QueryExecutorProvider,
  place: Pick<AdoptionPlaces, 'names'>,
  fate: string,
): Promise<readonly Loss[]> {
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${place.names.id('sessions')} s WHERE NOT (${await isOwnSession(db, place, 's')})`.execute(
    db,
  )
  const count = Number(rows[0]?.count ?? 0)
  return count === 0 ? [] : [{ what: `sessions of OAuth clients, which this service does not serve: ${fate}`, count }]
}
