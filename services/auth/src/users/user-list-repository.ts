import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Identity } from '../identities/identity.ts'
import { toIdentity } from '../identities/identity-repository.ts'
import { countAll, countFound } from '../pagination/count-rows.ts'
import type { Cursor } from '../pagination/page-query.ts'
import { parseId } from '../records/ids.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { briefProfileColumns, type Profile, type ProfileRow, profileColumns, toProfile } from './profile-repository.ts'
import { toUser, type User } from './user.ts'

/** Selects the users of an audience that match a search. */
export interface UserFilter {
  /** If it is `undefined`, users of any audience are listed. */
  readonly audience: string | undefined
  /** A part of an email, phone number or full name, in any case. One or two characters match only the beginning. */
  readonly filter: string | undefined
  /** Whether only the beginning of an email, phone number or full name matches. By default any part matches. */
  readonly atBeginning?: boolean
  /** Users that another search has found. They match too. */
  readonly foundIds?: readonly string[]
}

/** A page of users, in the order of their creation. */
export interface UserList extends UserFilter {
  readonly direction: 'asc' | 'desc'
  /** The maximum number of rows. */
  readonly limit: number
  readonly offset: number
  /** The user before the first one of the page. */
  readonly after: Cursor | undefined
}

/** The number of first rows that are searched before the index is used. */
const NEWEST_ROWS_MAX = 10_000

/**
 * Lists users in the order of their creation. If a search matches many users, the first rows contain enough of them. If it
 * matches few, the trigram index is faster. The number of matches is unknown in advance. So the first rows are always searched,
 * which takes milliseconds, and the index is used only if they are not enough.
 */
export function listProfiles(db: Db, list: UserList): Promise<Profile[]> {
  return readPage(db, list, profileColumns())
}

/** Lists users like `listProfiles`, with empty metadata and identity claims, for the lists of operators. */
export function listBriefProfiles(db: Db, list: UserList): Promise<Profile[]> {
  return readPage(db, list, briefProfileColumns())
}

async function readPage(db: Db, list: UserList, columns: RawBuilder<ProfileRow>): Promise<Profile[]> {
  const direction = sql.raw(list.direction === 'asc' ? 'ASC' : 'DESC')
  const order = sql`ORDER BY created_at ${direction}, user_id ${direction}`
  const { rows } = await sql<ProfileRow>`
    WITH ${list.filter === undefined ? plainPage(list, order) : searchedPage(list, order)}
    SELECT ${columns} FROM page JOIN ${sql.table('users')} u ON u.id = page.user_id
    ORDER BY page.created_at ${direction}, page.user_id ${direction}`.execute(db)
  return rows.map(toProfile)
}

/** Counts users exactly up to 100,000. Larger numbers are the planner's estimate (reference: Lists of users). */
export function countUsers(db: Db, { audience, ...search }: UserFilter): Promise<number> {
  const all = sql`FROM ${directory} WHERE ${isOfAudience(audience)}`
  return search.filter === undefined ? countAll(db, all) : countFound(db, sql`${all} AND ${matches(search)}`)
}

const directory = sql.table('user_directory')

function plainPage(list: UserList, order: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`page AS (SELECT user_id, created_at FROM ${directory} WHERE ${isInList(list)} ${order}
    OFFSET ${list.offset} LIMIT ${list.limit})`
}

function searchedPage(list: UserList, order: RawBuilder<unknown>): RawBuilder<unknown> {
  const { foundIds = [], offset, limit } = list
  const text = toSearchText(list)
  const wanted = offset + limit
  return sql`
    newest AS MATERIALIZED (
      SELECT user_id, created_at, document FROM ${directory} WHERE ${isInList(list)} ${order} LIMIT ${sql.lit(NEWEST_ROWS_MAX)}),
    near AS MATERIALIZED (
      SELECT user_id, created_at FROM newest
      WHERE strpos(document, ${text}) > 0 OR user_id = ANY (${foundIds}::uuid[]) ${order} LIMIT ${wanted}),
    far AS (
      -- OFFSET 0 keeps the planner from walking the whole list in its order until enough are found.
      SELECT user_id, created_at FROM (SELECT user_id, created_at FROM ${directory}
        WHERE (SELECT count(*) FROM near) < ${wanted} AND ${isInList(list)} AND ${matches(list)} OFFSET 0) AS found
      ${order} LIMIT ${wanted}),
    page AS (
      SELECT user_id, created_at FROM (
        SELECT user_id, created_at FROM near WHERE (SELECT count(*) FROM near) >= ${wanted}
        UNION ALL SELECT user_id, created_at FROM far) AS merged
      ${order} OFFSET ${offset} LIMIT ${limit})`
}

function isInList({ audience, after, direction }: UserList): RawBuilder<boolean> {
  const beyond = sql.raw(direction === 'asc' ? '>' : '<')
  return after === undefined
    ? isOfAudience(audience)
    : sql`${isOfAudience(audience)} AND (created_at, user_id) ${beyond} (${after.createdAt}::timestamptz, ${after.id}::uuid)`
}

function isOfAudience(audience: string | undefined): RawBuilder<boolean> {
  return audience === undefined ? sql`true` : sql`aud = ${audience}`
}

type Search = Pick<UserFilter, 'filter' | 'atBeginning' | 'foundIds'>

function matches(search: Search): RawBuilder<boolean> {
  const text = toSearchText(search)
  const grams = sql.table('text_grams')
  const byText = sql<boolean>`(${grams}(document) @> ${grams}(${text}) AND strpos(document, ${text}) > 0)`
  const { foundIds = [] } = search
  return foundIds.length === 0 ? byText : sql`(${byText} OR user_id = ANY (${foundIds}::uuid[]))`
}

/** Returns the text to search for in documents of the migration `create-user-directory`. */
function toSearchText({ filter = '', atBeginning = false }: Search): RawBuilder<string> {
  const separators = atBeginning ? sql`2` : sql`3 - length(${filter}::text)`
  return sql`(repeat(chr(31), ${separators}) || lower(${filter}::text))`
}

/** Finds the users with an id, or with this subject at a provider. Uses unique indexes. */
export async function findUserIdsByExactId(db: Db, id: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('identities')
    .select('user_id as id')
    .where('provider_id', '=', id)
    .$if(parseId(id) !== undefined, (query) =>
      query.unionAll(db.selectFrom('users').select('id').where('id', '=', id.toLowerCase())),
    )
    .limit(EXACT_ROWS_MAX)
    .execute()
  return rows.map((row) => row.id)
}

/** A subject is unique only per provider, but there are few providers. */
const EXACT_ROWS_MAX = 100

/** A user in an export, with the password hash. */
export interface UserWithIdentities {
  readonly user: User
  /** Since when the account is claimed (see `isUnclaimed`). */
  readonly claimedAt: Timestamp | null
  /** Oldest first. */
  readonly identities: readonly Identity[]
}

/** A page of all users by id, without pending sign-ups and deleted users. */
export async function listUsersWithIdentities(
  db: Db,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<UserWithIdentities[]> {
  const users = await db
    .selectFrom('users')
    .selectAll()
    .where('staged_at', 'is', null)
    .where('deleted_at', 'is', null)
    .$if(after !== undefined, (query) => query.where('id', '>', after ?? ''))
    .orderBy('id')
    .limit(limit)
    .execute()
  const ids = users.map(({ id }) => id)
  if (ids.length === 0) return []
  const identities = await db
    .selectFrom('identities')
    .selectAll()
    .where('user_id', 'in', ids)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const byUser = Map.groupBy(identities.map(toIdentity), ({ userId }) => userId)
  return users.map((row) => ({
    user: toUser(row),
    claimedAt: row.claimed_at,
    identities: byUser.get(row.id) ?? [],
  }))
}
