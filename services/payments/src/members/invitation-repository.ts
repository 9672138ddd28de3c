import type { Pools } from '@trestle/database/pools.ts'
import { prepare, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type Caller, type CallerColumns, callerColumns, callerRow } from '../access/caller.ts'
import type { AccessResult, Verdict } from '../access/verdict.ts'
import { displayName } from '../merchants/site.ts'
import type { Invitation } from './invitation.ts'

type InvitationRow = Omit<Invitation, 'merchant'> & { readonly name: string | null; readonly website: string }

const findQuery = prepare(
  'find_invitation',
  (p: { tokenHash: Buffer }) => sql<InvitationRow>`
    SELECT m.id AS "merchantId", m.name, m.website, coalesce(s.email, u.email) AS email,
      coalesce(a.name, by.name, own.email, by.email) AS inviter,
      CASE WHEN NOT s.pending THEN 'accepted' WHEN i.used IS NULL AND i.expires > now() THEN 'open' ELSE 'expired' END AS state
    FROM ${sql.table('invitations')} i
    JOIN ${sql.table('merchant_users')} s ON s.merchant_id = i.merchant_id AND s.user_id = i.user_id
    JOIN ${sql.table('merchants')} m ON m.id = i.merchant_id
    JOIN ${sql.table('users')} u ON u.id = i.user_id
    LEFT JOIN ${sql.table('apps')} a ON a.id = s.invited_by
    LEFT JOIN ${sql.table('users')} by ON by.id = s.invited_by
    LEFT JOIN ${sql.table('merchant_users')} own ON own.merchant_id = i.merchant_id AND own.user_id = s.invited_by
    WHERE i.token_hash = ${p.tokenHash}`,
)

/**
 * Returns the invitation of a link, even if it is accepted or expired. The address is as the merchant typed it. Resolves to
 * `undefined` if no link has this hash.
 */
export async function findInvitation(pools: Pools, tokenHash: Buffer): Promise<Invitation | undefined> {
  const row = await pools.read.first(findQuery, { tokenHash })
  if (!row) return undefined
  const { name, website, ...invitation } = row
  return { ...invitation, merchant: displayName(name, website) }
}

const acceptQuery = prepareOnCoordinator(
  'accept_invitation',
  (p: { tokenHash: Buffer }) => sql`SELECT ${sql.table('accept_invitation')}(${p.tokenHash})`,
)

/** Makes the invited user a member. Changes nothing if the invitation is accepted or expired. */
export async function callAcceptInvitation(pools: Pools, tokenHash: Buffer): Promise<void> {
  await pools.write.one(acceptQuery, { tokenHash })
}

/** A user to invite. If `invitation` is `null`, the call only checks access and looks for the answer to an idempotent request. */
export interface InviteUserCall {
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

const inviteQuery = prepareOnCoordinator(
  'invite_user',
  (p: InviteColumns) => sql<InvitedRow>`
    SELECT verdict, identity_id, is_member, mailed FROM ${sql.table('invite_user')}(
      ${callerRow(p)}, ${p.merchantId}, ${p.email}, ${p.tokenHash}, ${p.task}, ${p.data}
    )`,
)

const NO_INVITATION = { email: null, tokenHash: null, task: null, data: null }

/** Invites a user by email, unless the user is a member. `mailed` is `true` if the job of the mail was inserted. */
export async function callInviteUser(
  pools: Pools,
  { caller, merchantId, invitation }: InviteUserCall,
): Promise<AccessResult & { readonly isMember: boolean; readonly mailed: boolean }> {
  const input = { ...callerColumns(caller), merchantId, ...(invitation ?? NO_INVITATION) }
  const { verdict, identity_id, is_member, mailed } = await pools.write.one(inviteQuery, input)
  return { verdict, identityId: identity_id, isMember: is_member ?? false, mailed: mailed ?? false }
}
