import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { hasRelation } from '../../schema/catalog.ts'
import type { EncryptionKeys } from '../../secrets/encrypted-secret.ts'
import { deriveUpstreamTokens, hashRefreshToken } from '../../sessions/session.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { findVersion } from '../upstream-tables.ts'
import { notAfter } from './copy-live-rows.ts'

/**
 * The distance between the counters of two chains of tokens in a session, as in the SQL function `reuse_refresh_token`. A chain
 * ends with a live token. The child of that token takes the next counter, which must be free.
 */
const CHAIN_GAP = 1_000_000_000

/** SQL for the counter of the token that follows the newest copy `o` of a session. */
export const NEXT_COUNTER: RawBuilder<unknown> = sql`o.counter + 1 + CASE WHEN o.revoked THEN 0 ELSE ${sql.lit(CHAIN_GAP)} END`

export interface TokenCopy {
  /** The table `refresh_tokens` of supabase/auth. */
  readonly old: RawBuilder<unknown>
  /** The table `refresh_tokens` of this service. */
  readonly own: RawBuilder<unknown>
  /** The table of sessions, which both services share. */
  readonly sessions: RawBuilder<unknown>
  /** Whether sessions have keys from which refresh tokens are derived. Versions before 2.181 have none. */
  readonly hasKeys: boolean
  /** The number that is added to the ids of the old tokens. */
  readonly idOffset: bigint
  readonly encryptionKeys: EncryptionKeys
}

/** Limits the time of a copied token to now. Otherwise a spent token could be used again until that time. */
export function pastTime(time: RawBuilder<unknown>): RawBuilder<unknown> {
  return notAfter(time, sql`clock_timestamp()`)
}

/**
 * Replaces the refresh tokens of sessions by copies of the tokens of the old service: those stored as rows, and those derived
 * from session keys. If a session no longer exists, all of its tokens are deleted.
 * @param ids at most a few hundred, because each session is looked up separately
 */
export async function copyTokens(trx: Kysely<unknown>, copy: TokenCopy, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const { old, own, sessions } = copy
  // OFFSET 0 prevents PostgreSQL from merging the subquery into the query. PostgreSQL then looks up each session by an index,
  // even without statistics, and never reads the whole table.
  await sql`
    DELETE FROM ${own} WHERE id = ANY (ARRAY (
      SELECT t.id FROM unnest(${ids}::uuid[]) i (id)
      CROSS JOIN LATERAL (SELECT o.id FROM ${own} o WHERE o.session_id = i.id OFFSET 0) t))`.execute(trx)
  await insertCopies(
    trx,
    copy,
    sql`
      unnest(${ids}::uuid[]) i (id)
      CROSS JOIN LATERAL (SELECT * FROM ${sessions} o WHERE o.id = i.id OFFSET 0) s
      CROSS JOIN LATERAL (SELECT * FROM ${old} o WHERE o.session_id = s.id AND o.token <> '' OFFSET 0) t
      LEFT JOIN LATERAL (SELECT o.id FROM ${old} o WHERE o.token = t.parent AND o.session_id = t.session_id OFFSET 0) p ON true`,
  )
  await copyDerived(trx, copy, ids)
}

/**
 * Copies tokens that the old service stores as rows.
 * @param tokens the tokens `t` of the old service, each with its session `s` and the number `p.id` of its parent
 * @param copy `start` is the counter of the first of these tokens in a session. The default is 0
 */
export async function insertCopies(
  trx: Kysely<unknown>,
  { own, idOffset, start = sql`0` }: Pick<TokenCopy, 'own' | 'idOffset'> & { readonly start?: RawBuilder<unknown> },
  tokens: RawBuilder<unknown>,
): Promise<void> {
  const offset = sql.lit(idOffset)
  await sql`
    INSERT INTO ${own} (id, session_id, user_id, token_hash, counter, parent_id, revoked, created_at, updated_at)
    SELECT t.id + ${offset}, t.session_id, s.user_id, sha256(convert_to(t.token, 'UTF8')),
        ${start} + row_number() OVER earlier - 1
          + ${sql.lit(CHAIN_GAP)} * (count(*) FILTER (WHERE t.revoked IS NOT TRUE) OVER earlier - (t.revoked IS NOT TRUE)::int),
        p.id + ${offset}, coalesce(t.revoked, false),
        ${pastTime(sql`coalesce(t.created_at, s.created_at, 'epoch')`)},
        ${pastTime(sql`coalesce(t.updated_at, t.created_at, s.created_at, 'epoch')`)}
      FROM ${tokens}
      WINDOW earlier AS (PARTITION BY t.session_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)`.execute(trx)
}

/** Copies the tokens that are derived from session keys. The sessions must not have copies of them yet. */
export async function copyDerived(trx: Kysely<unknown>, copy: TokenCopy, ids: readonly string[]): Promise<void> {
  if (copy.hasKeys) await insertDerived(trx, copy, await listKeyedSessions(trx, { sessions: copy.sessions, ids }))
}

interface KeyedSession {
  readonly id: string
  readonly hmacKey: string
  readonly counter: string
}

async function listKeyedSessions(
  trx: Kysely<unknown>,
  { sessions, ids }: { readonly sessions: RawBuilder<unknown>; readonly ids: readonly string[] },
): Promise<readonly KeyedSession[]> {
  const { rows } = await sql<KeyedSession>`
    SELECT id, refresh_token_hmac_key AS "hmacKey", refresh_token_counter::text AS counter FROM ${sessions}
    WHERE id = ANY (${ids}::uuid[]) AND refresh_token_hmac_key IS NOT NULL AND refresh_token_counter IS NOT NULL`.execute(
    trx,
  )
  return rows
}

/**
 * Inserts derived tokens after the stored tokens of their session, one of which may be live. The counter of a derived token may
 * differ here, because SQL may have set the old counter to the greatest bigint.
 */
async function insertDerived(
  trx: Kysely<unknown>,
  { own, sessions, encryptionKeys }: TokenCopy,
  keyed: readonly KeyedSession[],
): Promise<void> {
  const derived = keyed.flatMap(({ id, hmacKey, counter }) => {
    const tokens = deriveUpstreamTokens(encryptionKeys, { id, hmacKey, counter: BigInt(counter) })
    return tokens === undefined ? [] : [{ id, counter, tokens }]
  })
  if (derived.length === 0) return
  const hashOf = (token: string | undefined) => (token === undefined ? null : hashRefreshToken(token))
  await sql`
    WITH item AS (
      SELECT d.*, s.user_id, ${pastTime(sql`coalesce(s.refreshed_at AT TIME ZONE 'UTC', s.created_at, 'epoch')`)} AS moment,
          coalesce(before.counter + ${sql.lit(CHAIN_GAP)}, 0) + least(d.step, ${sql.lit(CHAIN_GAP)}) + 1 AS counter, before.id AS before_id
        FROM unnest(${derived.map(({ id }) => id)}::uuid[], ${derived.map(({ counter }) => counter)}::bigint[],
          ${derived.map(({ tokens }) => hashOf(tokens.current))}::bytea[],
          ${derived.map(({ tokens }) => hashOf(tokens.parent))}::bytea[]) d (session_id, step, hash, parent_hash)
        JOIN ${sessions} s ON s.id = d.session_id
        LEFT JOIN LATERAL (
          SELECT t.id, t.counter FROM ${own} t WHERE t.session_id = d.session_id ORDER BY t.counter DESC LIMIT 1) before ON true),
    parent AS (
      INSERT INTO ${own} (session_id, user_id, token_hash, counter, parent_id, revoked, created_at, updated_at)
      SELECT session_id, user_id, parent_hash, counter - 1, before_id, true, moment, moment FROM item
      WHERE parent_hash IS NOT NULL RETURNING id, session_id)
    INSERT INTO ${own} (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
    SELECT i.session_id, i.user_id, i.hash, i.counter, coalesce(p.id, i.before_id), i.moment, i.moment
      FROM item i LEFT JOIN parent p ON p.session_id = i.session_id`.execute(trx)
}

/** Numbers reserved for the tokens that the old service creates while the copy runs. */
export const ID_GAP = 1_000_000_000n
/** The greatest allowed number of an old token. Later tokens of both services need higher numbers. */
const NUMBER_MAX = 2n ** 63n - 2n * ID_GAP

/** Lists the token and the sequence that leave too few numbers for this service. @returns a line for each, with advice */
export async function listSpentNumbers(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  const table = `${names.schema}.refresh_tokens`
  const { rows } = await sql<{ id: string | null; last: string | null }>`
    SELECT max(id)::text AS id, ${lastNumber(names)}::text AS last FROM ${names.id('refresh_tokens')}`.execute(db)
  const { id = null, last = null } = rows[0] ?? {}
  return [
    ...(isSpent(id)
      ? [`the row ${id} of ${table} leaves too few numbers for new tokens: delete it, or give it a lower id`]
      : []),
    ...(isSpent(last)
      ? [
          `the sequence of ${table} stands at ${last}, which leaves too few numbers for new tokens: run SELECT setval(pg_get_serial_sequence('${table}', 'id'), max(id)) FROM ${table}`,
        ]
      : []),
  ]
}

function isSpent(number: string | null): boolean {
  return number !== null && BigInt(number) > NUMBER_MAX
}

/**
 * Lists the sequences and other objects that would still have the name of the token sequence after the switch. A sequence moves
 * with the table of supabase/auth only if a column of the table owns it.
 * @returns a line for each, with advice
 */
export async function listLooseSequences(db: QueryExecutorProvider, { schema }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ object: string; name: string; table: string; isInUse: boolean }>`
    SELECT pg_describe_object('pg_class'::regclass, s.oid, 0) AS object, format('%s', s.oid::regclass) AS name,
      format('%s', t.oid::regclass) AS "table", u."isInUse"
    FROM pg_class t JOIN pg_class s ON s.relnamespace = t.relnamespace CROSS JOIN LATERAL (
      SELECT s.relkind = 'S' AND EXISTS (
        SELECT FROM pg_attrdef f JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
        WHERE f.adrelid = t.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = s.oid) AS "isInUse") u
    WHERE t.oid = to_regclass(format('%I.refresh_tokens', ${schema}::text)) AND (s.relname = 'refresh_tokens_id_seq' OR u."isInUse")
      AND NOT EXISTS (
        SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = s.oid
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i'))
    ORDER BY name`.execute(db)
  return rows.map(({ object, name, table, isInUse }) =>
    isInUse
      ? `${object} does not belong to ${table}, whose rows it numbers, so it would not move with the table: run ALTER SEQUENCE ${name} OWNED BY ${table}.id`
      : `${object} has a name that this service needs: rename it, or move it to another schema`,
  )
}

/** SQL for the last number that the old service gave a token, or NULL. Its sequence may be far ahead of its rows. */
export function lastNumber({ schema }: Names): RawBuilder<unknown> {
  return sql`pg_sequence_last_value(pg_get_serial_sequence(format('%I.refresh_tokens', ${schema}::text), 'id')::regclass)`
}

/** Gives new tokens higher numbers than all copies. The old service may have passed `ID_GAP` meanwhile. */
export async function passCopiedNumbers(trx: Kysely<unknown>, names: Names): Promise<void> {
  const sequence = names.id('refresh_tokens_id_seq')
  await sql`
    SELECT setval(pg_get_serial_sequence(format('%I.refresh_tokens', ${names.schema}::text), 'id'), max(id))
    FROM ${names.id('refresh_tokens')} HAVING max(id) > (SELECT last_value FROM ${sequence})`.execute(trx)
}

/**
 * Early versions of supabase/auth created refresh tokens without a session. They begin a session when such a token is used. Since
 * 2.108, which has this migration, supabase/auth closes the connection or rejects such a token.
 */
const NEEDS_SESSION = '20231027141322'
/** The table of the sessions that a switch has begun, each with its refresh token. */
export const BEGUN_SESSIONS = 'begun_sessions'
/** Matches the id of a user. In `refresh_tokens`, supabase/auth stores these ids as text. */
const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
const hasNoSession = sql`t.session_id IS NULL AND t.token <> '' AND t.revoked IS NOT TRUE`
const userOf = sql`CASE WHEN t.user_id ~ ${sql.lit(UUID)} THEN t.user_id::uuid END`

/**
 * Begins a session for each live refresh token without one, as supabase/auth would at its next use. Copies the token and its
 * parent. Both keep the session in the moved tables until an undo, so that they end with it.
 */
export async function beginMissingSessions(trx: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<void> {
  const [begun, old] = [sql.id(kept, BEGUN_SESSIONS), sql.id(kept, 'refresh_tokens')]
  const isServed = ((await findVersion(trx, names)) ?? '') < NEEDS_SESSION
  await sql`
    CREATE TABLE ${begun} AS SELECT gen_random_uuid() AS id, t.id AS token_id, u.id AS user_id,
        coalesce(t.created_at, t.updated_at) AS created_at
      FROM ${old} t JOIN ${names.id('users')} u ON u.id = ${userOf} WHERE ${hasNoSession} AND ${sql.lit(isServed)}`.execute(
    trx,
  )
  await sql`
    INSERT INTO ${names.id('sessions')} (id, user_id, aal, created_at, updated_at)
      SELECT b.id, b.user_id, 'aal1', coalesce(t.created_at, t.updated_at), coalesce(t.updated_at, t.created_at)
      FROM ${begun} b JOIN ${old} t ON t.id = b.token_id`.execute(trx)
  await sql`UPDATE ${old} t SET session_id = b.id FROM ${begun} b WHERE t.id = b.token_id`.execute(trx)
  await sql`
    UPDATE ${old} p SET session_id = b.id FROM ${begun} b JOIN ${old} t ON t.id = b.token_id
      WHERE p.token = t.parent AND p.session_id IS NULL`.execute(trx)
  // Use one statement, because requests wait. Batches of a few hundred sessions take twice as long.
  await insertCopies(
    trx,
    { own: names.id('refresh_tokens'), idOffset: 0n },
    sql`
      ${begun} s JOIN ${old} t ON t.session_id = s.id AND t.token <> ''
      LEFT JOIN ${old} p ON p.token = t.parent AND p.session_id = t.session_id`,
  )
}

/**
 * Deletes the sessions that the switch has begun. Their tokens then have no session again. Tokens of sessions that have ended
 * here must be deleted before.
 */
export async function takeBackBegunSessions(trx: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<void> {
  const begun = sql`(SELECT id FROM ${sql.id(kept, BEGUN_SESSIONS)})`
  await sql`UPDATE ${sql.id(kept, 'refresh_tokens')} SET session_id = NULL WHERE session_id IN ${begun}`.execute(trx)
  await sql`DELETE FROM ${names.id('sessions')} WHERE id IN ${begun}`.execute(trx)
}

/** Returns the number of live refresh tokens without a session that supabase/auth would still refresh. */
export async function countTokensWithoutSession(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<number> {
  if (
    ((await findVersion(db, names)) ?? '') >= NEEDS_SESSION ||
    !(await hasRelation(db, names.schema, 'refresh_tokens'))
  )
    return 0
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${names.id('refresh_tokens')} t JOIN ${names.id('users')} u ON u.id = ${userOf}
    WHERE ${hasNoSession}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
