import type { Trx } from '../database.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { listIdentities, upsertIdentity } from '../identities/identity-repository.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { User } from './user.ts'
import { updateUser } from './user-change-repository.ts'

/** The identity of a user's own email or phone. `at` is the time of the change. */
export interface OwnIdentity {
  readonly identifier: UserIdentifier
  readonly isVerified: boolean
  readonly at: Date
}

/**
 * Gives the identity of a user's own email or phone another address, or inserts the identity, and lists its provider in the
 * user's app metadata, where `provider` is the first of `providers` (reference: User record).
 * @param user locked, as they are at present
 */
export async function setOwnIdentity(
  trx: Trx,
  user: Pick<User, 'id' | 'appMetadata'>,
  { identifier: { kind, value }, isVerified, at }: OwnIdentity,
): Promise<User> {
  const { id } = user
  const verified = { [`${kind}_verified`]: isVerified }
  await upsertIdentity(
    trx,
    {
      user_id: id,
      provider: kind,
      provider_id: id,
      identity_data: { ...ownIdentityData(kind, { userId: id, value }, {}), ...verified },
      updated_at: at,
    },
    { [kind]: value, ...verified },
  )
  return updateProviders(trx, user)
}

/** Lists the providers of a user's identities in their app metadata, oldest first. @param user locked, as they are at present */
export async function updateProviders(trx: Trx, { id, appMetadata }: Pick<User, 'id' | 'appMetadata'>): Promise<User> {
  const providers = [...new Set((await listIdentities(trx, id)).map(({ provider }) => provider))]
  return updateUser(trx, id, { raw_app_meta_data: { ...appMetadata, provider: providers[0], providers } })
}
