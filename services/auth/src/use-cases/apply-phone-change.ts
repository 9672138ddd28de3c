import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { notify } from '../messages/notification.ts'
import { recordAddressChange } from '../users/address-change-repository.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-repository.ts'
import { claimIdentifier, TAKEN_FOR_USER } from './claim-identifier.ts'
import { setOwnIdentity } from './set-own-identity.ts'

/**
 * Gives a user another phone, which counts as confirmed: an anonymous user becomes a permanent one. The transaction is one
 * of `withUniqueIdentifiers`. @param user locked @throws phoneExists
 */
export async function applyPhoneChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { newPhone, ip }: { readonly newPhone: string; readonly ip: string },
): Promise<User> {
  const at = deps.now()
  const identifier = { kind: 'phone', value: newPhone } as const
  await claimIdentifier(trx, identifier, { ownerId: user.id, taken: TAKEN_FOR_USER })
  const changed = await updateUser(trx, user.id, {
    phone: newPhone,
    phone_confirmed_at: at,
    phone_change: '',
    is_anonymous: false,
    updated_at: at,
  })
  await recordAddressChange(trx, user, { kind: 'phone', at })
  const owner = await setOwnIdentity(trx, changed, { identifier, isVerified: true, at })
  const variables = { Phone: newPhone, OldPhone: user.phone }
  await notify(trx, deps, owner, { name: 'PHONE_CHANGED', variables })
  await recordAudit(trx, deps, { action: 'user_modified', actor: owner, ip, traits: { provider: 'phone' } })
  return owner
}
