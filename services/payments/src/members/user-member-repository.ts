import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Judged, Verdict } from '../access/admit.ts'
import { type Caller, type CallerColumns, callerColumns, callerRow } from '../access/caller.ts'
import type { PageBounds } from '../pagination/cursor.ts'
import { type ListMembersInput, listMembers, type MemberRow } from './list-members.ts'
import type { UserMember } from './user-member.ts'

/** Until an invitation is accepted the record that all merchants share tells nothing: not even that it was there before. */
const listQueries = listMembers<UserMember>(
  { noun: 'user', shownId: sql`coalesce(l.member_id, l.user_id)` },
  sql`s.shown_id AS id, coalesce(s.email, o.email) AS email, CASE WHEN NOT s.pending THEN o.name END AS name,
    CASE WHEN s.member_id IS NULL THEN o.created ELSE s.created END AS created, s.pending`,
)

/** A page of the users of a merchant, invited ones included. */
export async function listUserMembers(
  lanes: Lanes,
  input: ListMembersInput,
  order: PageBounds['order'],
): Promise<Judged & { readonly users: readonly UserMember[] }> {
  const rows = await lanes.read.all(listQueries[order], input)
  const { verdict = 'unauthorized', identity_id = null } = rows[0] ?? {}
  return { verdict, identityId: identity_id, users: rows.flatMap((row) => toUserMember(row) ?? []) }
}

function toUserMember(row: MemberRow<UserMember>): UserMember | undefined {
  if (row.id === null) return undefined
  const { id, email, name, pending, created } = row
  return { id, email, name, pending, created }
}

/** The members of `invitation` are null when only access is to be checked. */
export interface InviteUserInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly invitation: NewInvitation | null
}

export interface NewInvitation {
  readonly email: string
  /** 32 bytes. */
  readonly tokenHash: Buffer
  /** The job that sends the mail. */
  readonly task: string
  readonly data: object
}

interface InvitedRow {
  verdict: Verdict
  identity_id: string | null
  is_member: boolean | null
  mailed: boolean | null
}

type InviteColumns = CallerColumns & { merchantId: string } & {
  readonly [Member in keyof NewInvitation]: NewInvitation[Member] | null
}

const inviteQuery = prepare(
  'invite_user',
  (p: InviteColumns) => sql<InvitedRow>`
    SELECT verdict, identity_id, is_member, mailed FROM ${sql.table('invite_user')}(
      ${callerRow(p)}, ${p.merchantId}, ${p.email}, ${p.tokenHash}, ${p.task}, ${p.data}
    )`,
)

const NO_INVITATION = { email: null, tokenHash: null, task: null, data: null }

/** Invites a person by e-mail address, unless they are a member. `mailed`: the job is written. */
export async function callInviteUser(
  lanes: Lanes,
  { caller, merchantId, invitation }: InviteUserInput,
): Promise<Judged & { readonly isMember: boolean; readonly mailed: boolean }> {
  const input = { ...callerColumns(caller), merchantId, ...(invitation ?? NO_INVITATION) }
  const { verdict, identity_id, is_member, mailed } = await lanes.write.one(inviteQuery, input)
  return { verdict, identityId: identity_id, isMember: is_member ?? false, mailed: mailed ?? false }
}
