import type { PreparedQuery } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { judged, prepareForCaller } from '../access/access-query.ts'
import type { Verdict } from '../access/admit.ts'
import type { Credentials } from '../access/caller.ts'
import type { PageBounds } from '../pagination/cursor.ts'

/** Which members of which merchant; `limit` 0 when only access is to be checked. */
export interface ListMembersInput extends Credentials, Omit<PageBounds, 'order'> {
  readonly merchantId: string
  /** Only of a test merchant, or only of a live one. */
  readonly test: boolean | undefined
}

/** A verdict beside the columns of a member, which are null where there is none. */
export type MemberRow<Columns> = { readonly verdict: Verdict; readonly identity_id: string | null } & (
  | Columns
  | { readonly id: null }
)

/** The queries of a list of members, by its order. */
export type MemberList<Columns> = Readonly<
  Record<PageBounds['order'], PreparedQuery<ListMembersInput, MemberRow<Columns>>>
>

/**
 * Declares a list of the apps or users of a merchant, for its members, by the id that they have there.
 * @param noun `shownId` is the id within a membership `l`
 * @param columns of the app or user `o` and its membership `s`
 */
export function listMembers<Columns>(
  { noun, shownId }: { readonly noun: 'app' | 'user'; readonly shownId: RawBuilder<unknown> },
  columns: RawBuilder<unknown>,
): MemberList<Columns> {
  const memberId = sql.ref(`${noun}_id`)
  const query = (name: string, order: RawBuilder<unknown>) =>
    prepareForCaller(
      name,
      ({ fromCaller, joinMembership }, p: ListMembersInput) => sql<MemberRow<Columns>>`
    SELECT ${judged(sql`m.id`)}, ${columns}
    ${fromCaller}
    LEFT JOIN ${sql.table('merchants')} m ON m.id = ${p.merchantId}
    ${joinMembership(sql`m.id`)}
    LEFT JOIN LATERAL (
      SELECT ${shownId} AS shown_id, l.* FROM ${sql.table(`merchant_${noun}s`)} l
      WHERE l.merchant_id = a.merchant_id AND ${shownId} > ${p.above} AND ${shownId} < ${p.below}
        AND (${p.test}::boolean IS NULL OR m.test = ${p.test}::boolean)
      ORDER BY ${shownId} ${order} LIMIT ${p.limit}
    ) s ON true
    LEFT JOIN ${sql.table(`${noun}s`)} o ON o.id = s.${memberId}
    ORDER BY s.shown_id ${order}`,
    )
  return {
    'newest-first': query(`list_${noun}_members`, sql`DESC`),
    'oldest-first': query(`list_${noun}_members_reversed`, sql`ASC`),
  }
}
