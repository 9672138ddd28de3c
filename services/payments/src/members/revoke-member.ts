import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Judged, Verdict } from '../access/admit.ts'
import { type Caller, type CallerColumns, callerColumns, callerRow } from '../access/caller.ts'

/** `memberId` is null when only access is to be checked. */
export interface RevokeMemberInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly memberId: string | null
}

const queries = { app: revokeQuery('revoke_app'), user: revokeQuery('revoke_user') }

function revokeQuery(name: string) {
  return prepare(
    name,
    (p: CallerColumns & Omit<RevokeMemberInput, 'caller'>) => sql<{ verdict: Verdict; identity_id: string | null }>`
    SELECT verdict, identity_id FROM ${sql.table(name)}(${callerRow(p)}, ${p.merchantId}, ${p.memberId})`,
  )
}

/** Ends the membership of an app or a user, or the invitation to it, for the very next request. */
export async function callRevokeMember(
  lanes: Lanes,
  noun: 'app' | 'user',
  { caller, ...input }: RevokeMemberInput,
): Promise<Judged> {
  const { verdict, identity_id } = await lanes.write.one(queries[noun], { ...callerColumns(caller), ...input })
  return { verdict, identityId: identity_id }
}
