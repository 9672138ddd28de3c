import { type Kysely, type RawBuilder, sql } from 'kysely'
import {
  copyDerived,
  copyTokens,
  insertCopies,
  NEXT_COUNTER,
  pastTime,
  type TokenCopy,
} from '../copy/copy-refresh-tokens.ts'

/** A comparison of the tokens of a session with their copies. */
interface Difference {
  readonly id: string
  /** Whether the copies must be made anew. */
  readonly isWhole: boolean
  /** The numbers of copies of tokens that were spent since. */
  readonly spent: readonly string[]
  /** The numbers of new tokens. */
  readonly added: readonly string[]
}

/**
 * Brings the copies of the refresh tokens of sessions up to date. Users may have made a million tokens in one session, and go on
 * refreshing it. To copy them all takes many seconds, in which requests wait during a switch. So what a refresh does is copied
 * alone: spent tokens, and new ones. Where anything else has changed, all tokens of the session are copied anew.
 * @param firstDerived the number from which copies follow from the keys of sessions
 * @param ids at most a few hundred: each is looked up by itself
 */
export async function updateCopies(
  trx: Kysely<unknown>,
  copy: TokenCopy & { readonly firstDerived: RawBuilder<unknown> },
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  const differences = await findDifferences(trx, copy, ids)
  const whole = differences.filter(({ isWhole }) => isWhole)
  const kept = differences.filter(({ isWhole }) => !isWhole)
  await copyTokens(
    trx,
    copy,
    whole.map(({ id }) => id),
  )
  if (kept.length === 0) return
  const { old, own, sessions, firstDerived } = copy
  const goOn = kept.map(({ id }) => id)
  const numbers = (of: 'spent' | 'added') => sql`${kept.flatMap((each) => each[of])}::bigint[]`
  // SQL may have moved a token here from another session, whose copy has its number.
  await sql`
    DELETE FROM ${own} WHERE id = ANY (${numbers('added')}) OR id = ANY (ARRAY (
      SELECT t.id FROM unnest(${goOn}::uuid[]) i (id)
      CROSS JOIN LATERAL (SELECT o.id FROM ${own} o WHERE o.session_id = i.id ORDER BY o.counter DESC LIMIT 2) t
      WHERE t.id >= ${firstDerived}))`.execute(trx)
  await sql`
    UPDATE ${own} c SET revoked = true,
      updated_at = (SELECT ${pastTime(sql`coalesce(o.updated_at, c.created_at)`)} FROM ${old} o WHERE o.id = c.id)
    WHERE c.id = ANY (${numbers('spent')})`.execute(trx)
  await insertCopies(
    trx,
    { ...copy, start: sql`n.counter` },
    sql`
      unnest(${numbers('added')}) i (id)
      CROSS JOIN LATERAL (SELECT * FROM ${old} o WHERE o.id = i.id OFFSET 0) t
      CROSS JOIN LATERAL (SELECT * FROM ${sessions} o WHERE o.id = t.session_id OFFSET 0) s
      CROSS JOIN LATERAL (
        SELECT ${NEXT_COUNTER} AS counter FROM ${own} o WHERE o.session_id = t.session_id ORDER BY o.counter DESC LIMIT 1) n
      LEFT JOIN LATERAL (SELECT o.id FROM ${old} o WHERE o.token = t.parent AND o.session_id = t.session_id OFFSET 0) p ON true`,
  )
  await copyDerived(trx, copy, goOn)
}

/**
 * Compares the tokens of sessions with their copies. The value of a spent token is not compared, since it continues nothing. A
 * new token that has a lower number than a copy, because it was committed later, would come behind it in the chain.
 */
async function findDifferences(
  trx: Kysely<unknown>,
  { old, own, sessions, firstDerived }: Parameters<typeof updateCopies>[1],
  ids: readonly string[],
): Promise<readonly Difference[]> {
  const { rows } = await sql<Difference>`
    SELECT i.id, s.id IS NULL OR d."isWhole" AS "isWhole", d.spent, d.added FROM unnest(${ids}::uuid[]) i (id)
    LEFT JOIN LATERAL (SELECT o.id, o.user_id FROM ${sessions} o WHERE o.id = i.id OFFSET 0) s ON true
    CROSS JOIN LATERAL (
      SELECT count(c.id) = 0 OR coalesce(min(t.id) FILTER (WHERE c.id IS NULL) < max(c.id), false)
          OR coalesce(bool_or(t.id IS NULL OR c.user_id <> s.user_id OR NOT t.revoked AND (
            c.revoked OR c.token_hash <> sha256(convert_to(t.token, 'UTF8')))) FILTER (WHERE c.id IS NOT NULL), false) AS "isWhole",
        coalesce(array_agg(c.id) FILTER (WHERE t.revoked AND NOT c.revoked), '{}') AS spent,
        coalesce(array_agg(t.id) FILTER (WHERE c.id IS NULL), '{}') AS added
      FROM (
        SELECT o.id, o.token, coalesce(o.revoked, false) AS revoked FROM ${old} o
        WHERE o.session_id = i.id AND o.token <> '' OFFSET 0) t
      FULL JOIN (
        SELECT o.id, o.user_id, o.revoked, o.token_hash FROM ${own} o
        WHERE o.session_id = i.id AND o.id < ${firstDerived} OFFSET 0) c ON c.id = t.id) d`.execute(trx)
  return rows
}
