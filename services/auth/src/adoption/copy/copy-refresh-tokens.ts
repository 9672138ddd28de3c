import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { EncryptionKeys } from '../../secrets/sealed-secret.ts'
import { hashRefreshToken } from '../../sessions/refresh-token.ts'
import { deriveUpstreamTokens } from '../../sessions/upstream-token.ts'
import { notAfter } from './copy-live-rows.ts'

/**
 * How far apart the chains of two live tokens of a session are numbered, as `reuse_refresh_token` does: the
 * child of a token has the next number, which must be free.
 */
const CHAIN_GAP = 1_000_000_000

/** The counter of the token that comes after the newest copy `o` of a session. */
export const NEXT_COUNTER: RawBuilder<unknown> = sql`o.counter + 1 + CASE WHEN o.revoked THEN 0 ELSE ${sql.lit(CHAIN_GAP)} END`

/** The tables of a copy, and what it needs to compute tokens. */
export interface TokenCopy {
  /** `refresh_tokens` as supabase/auth has it. */
  readonly old: RawBuilder<unknown>
  /** `refresh_tokens` of this service. */
  readonly own: RawBuilder<unknown>
  /** The sessions of both. */
  readonly sessions: RawBuilder<unknown>
  /** Whether the sessions have keys, from which tokens of the second form follow. Versions before 2.181 know none. */
  readonly hasKeys: boolean
  /** The offset of the numbers of the old tokens. */
  readonly idOffset: bigint
  readonly encryptionKeys: EncryptionKeys
}

/** The time of a copy of a token. A spent token with a time in the future could be sent again until that time has come. */
export function pastTime(time: RawBuilder<unknown>): RawBuilder<unknown> {
  return notAfter(time, sql`clock_timestamp()`)
}

/**
 * Replaces the refresh tokens of sessions by the tokens of the old service, in both of their forms. Of a
 * session that is gone, none stays.
 * @param ids at most a few hundred: each is looked up by itself
 */
export async function copyTokens(trx: Kysely<unknown>, copy: TokenCopy, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const { old, own, sessions } = copy
  // OFFSET 0 keeps a subquery apart: PostgreSQL looks up each session by an index, whatever it knows of the
  // tables, and reads none whole.
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
 * Copies tokens of the first form.
 * @param tokens the tokens `t` of the old service, each with its session `s` and the number `p.id` of its
 * parent
 * @param copy `start`: the counter of the first of these tokens of a session; by default 0
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

/** Copies the tokens of the second form, which follow from the keys of sessions. The session has no copies of these. */
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
 * A token of the second form follows the tokens of the first form that its session had before. One of these may be live. Its
 * number here need not be its counter there, which SQL may have set to the greatest bigint.
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
