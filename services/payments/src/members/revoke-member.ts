import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type Judged, splitVerdict, type Verdict } from '../access/admit.ts'
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
    (p: CallerColumns & Omit<RevokeMemberInput, 'caller'>) => sql<{
      verdict: Verdict | 'last-app'
      identity_id: string | null
    }>`
    SELECT verdict, identity_id FROM ${sql.table(name)}(${callerRow(p)}, ${p.merchantId}, ${p.memberId})`,
  )
}

/**
 * Ends the membership of an app or a user, or the invitation to it, for the very next request. `isLast`: an app
 * wants to remove the only one of a merchant, itself, and nothing was done.
 */
export async function callRevokeMember(
  lanes: Lanes,
  noun: 'app' | 'user',
  { caller, ...input }: RevokeMemberInput,
): Promise<Judged & { readonly isLast: boolean }> {
  const row = await lanes.write.one(queries[noun], { ...callerColumns(caller), ...input })
  const [verdict, refusal] = splitVerdict(row.verdict, ['last-app'])
  return { verdict, identityId: row.identity_id, isLast: refusal !== undefined }
}
