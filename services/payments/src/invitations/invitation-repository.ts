import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Invitation } from './invitation.ts'

const findQuery = prepare(
  'find_invitation',
  (p: { tokenHash: Buffer }) => sql<Invitation>`
    SELECT coalesce(m.name, m.website) AS merchant, u.email, coalesce(a.name, by.name, by.email) AS inviter,
      CASE WHEN NOT s.pending THEN 'accepted' WHEN i.used IS NULL AND i.expires > now() THEN 'open' ELSE 'expired' END AS state
    FROM ${sql.table('invitations')} i
    JOIN ${sql.table('merchant_users')} s ON s.merchant_id = i.merchant_id AND s.user_id = i.user_id
    JOIN ${sql.table('merchants')} m ON m.id = i.merchant_id
    JOIN ${sql.table('users')} u ON u.id = i.user_id
    LEFT JOIN ${sql.table('apps')} a ON a.id = s.invited_by
    LEFT JOIN ${sql.table('users')} by ON by.id = s.invited_by
    WHERE i.token_hash = ${p.tokenHash}`,
)

/** The invitation of a link, also one that is over. */
export async function findInvitation(lanes: Lanes, tokenHash: Buffer): Promise<Invitation | undefined> {
  return lanes.read.first(findQuery, { tokenHash })
}

const acceptQuery = prepare(
  'accept_invitation',
  (p: { tokenHash: Buffer }) => sql`SELECT ${sql.table('accept_invitation')}(${p.tokenHash})`,
)

/** Makes the invited person a member, where the invitation is open. */
export async function callAcceptInvitation(lanes: Lanes, tokenHash: Buffer): Promise<void> {
  await lanes.write.one(acceptQuery, { tokenHash })
}
