import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { type Identity, ownIdentityData } from '../identities/identity.ts'
import { insertIdentity } from '../identities/identity-repository.ts'
import type { User } from '../users/user.ts'
import { insertUser, type UserIdentifier } from '../users/user-repository.ts'

export interface OwnUser {
  readonly identifier: UserIdentifier
  readonly aud: string
  readonly passwordHash: string
  readonly data: Readonly<Record<string, unknown>>
  /** Whether the identifier counts as confirmed at once; else a confirmation is on its way. */
  readonly isConfirmed: boolean
}

/** Adds a user who signs in by an own email or phone, with the identity that goes with it. */
export async function insertOwnUser(
  trx: Transaction<AuthDatabase>,
  { config, now }: Pick<AuthDeps, 'config' | 'now'>,
  { identifier, aud, passwordHash, data, isConfirmed }: OwnUser,
): Promise<{ readonly user: User; readonly identity: Identity }> {
  const at = now()
  const { kind, value } = identifier
  const user = await insertUser(trx, {
    aud,
    role: config.jwt.defaultRole,
    [kind]: value,
    encrypted_password: passwordHash,
    [`${kind}_confirmed_at`]: isConfirmed ? at : null,
    confirmation_sent_at: isConfirmed ? null : at,
    raw_app_meta_data: { provider: kind, providers: [kind] },
    raw_user_meta_data: { ...data },
    created_at: at,
    updated_at: at,
  })
  const identityData = ownIdentityData(kind, { userId: user.id, value }, data)
  const identity = await insertIdentity(trx, {
    user_id: user.id,
    provider: kind,
    provider_id: user.id,
    identity_data: isConfirmed ? { ...identityData, [`${kind}_verified`]: true } : identityData,
    created_at: at,
    updated_at: at,
  })
  return { user, identity }
}
