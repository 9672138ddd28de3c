import type { Trx } from '../database.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import { deleteOtherIdentities } from '../identities/external-identity-repository.ts'
import { deleteAnonymousChanges } from '../one-time-tokens/pending-change-repository.ts'
import { confirmedMetadata } from '../users/address-metadata.ts'
import { updateProviders } from '../users/own-identity.ts'
import type { User } from '../users/user.ts'
import { deleteBelongings, updateUser, upsertAddressChange } from '../users/user-change-repository.ts'
import { isUnclaimed } from '../users/user-repository.ts'
import { adoptProfile, type ExternalOwner, type FindOwnerDeps, freeEmail } from './find-owner.ts'

/**
 * Confirms an account by an email that a provider has verified, or a mail has confirmed. Removes what a stranger may have left in
 * the account, and leaves an account alone whose email must stay (see `judgeConfirmation`).
 * @throws StaleView
 */
export async function confirmOwner(
  trx: Trx,
  deps: FindOwnerDeps,
  owner: ExternalOwner,
  account: ExternalAccount,
): Promise<User> {
  const { decision, user, identityId } = owner
  const accountEmail = account.email?.email ?? null
  const confirmation = judgeConfirmation(owner, account.email, await readProtection(trx, owner))
  if (confirmation === 'keep-email') return user
  const at = deps.now()
  const takesOver = confirmation === 'take-over'
  if (takesOver || confirmation === 'accept') {
    await deleteBelongings(trx, user.id)
    const keptProvider = takesOver || user.phone === null ? undefined : 'phone'
    await deleteOtherIdentities(trx, user.id, { id: identityId, provider: keptProvider })
    await updateUser(trx, user.id, { ...CLEARED_WAYS_IN, ...(takesOver ? CLEARED_PROFILE : {}), is_anonymous: false })
  }
  const email = user.email === accountEmail ? accountEmail : await freeEmail(trx, account, at)
  if (decision !== 'create' && email !== null && email !== user.email) {
    await upsertAddressChange(trx, user, { kind: 'email', at })
  }
  const isConfirmedNow = email !== null && user.emailConfirmedAt === null
  const confirmedData = isConfirmedNow ? confirmedMetadata(deps.config, {}, 'email') : {}
  const confirmed = await updateUser(trx, user.id, {
    // A confirmed email replaces an email that was never confirmed. If another user has the confirmed email, the account has
    // none.
    email,
    email_confirmed_at: email === null ? null : (user.emailConfirmedAt ?? at),
    ...(takesOver ? {} : { raw_user_meta_data: { ...user.userMetadata, ...confirmedData } }),
    is_anonymous: false,
    updated_at: at,
  })
  if (confirmation === 'accept') return updateProviders(trx, confirmed)
  if (!takesOver) return deleteAnonymousChanges(trx, deps.config, user, confirmed)
  const { provider, data } = account
  const claims = { provider, data: { ...data, ...confirmedData } }
  return adoptProfile(trx, deps, { ...confirmed, userMetadata: {} }, claims)
}

/** The protection of an account against strangers: an owner who has claimed it, and a second factor. */
export interface Protection {
  readonly isUnclaimed: boolean
  readonly hasVerifiedFactor: boolean
}

/**
 * Decides what the confirmation of an email does to an account (reference: Owner of an external account):
 * - `take-over`: nobody has claimed the account, so a stranger may have made it and waits for the owner of the email. The owner
 *   gets the account without what the stranger has left there. An account without an email was made by its provider, and loses
 *   nothing when that provider gives an email for the first time.
 * - `accept`: the same account, but an admin has invited its user, and the email is the invited one. The metadata and the phone
 *   are those that the admin has given, so they stay. A stranger who comes with another email gets none of them.
 * - `keep-email`: the identity was added later, perhaps by a session without the second factor of the account. So the identity
 *   signs in, and the email of the account stays.
 * - `confirm`: the account keeps everything, and gets the email.
 * @param accountEmail the email that the account at the provider has; undefined: none
 */
export function judgeConfirmation(
  {
    user,
    isFirstAddress,
    credentialSince,
  }: Pick<ExternalOwner, 'isFirstAddress' | 'credentialSince'> & {
    readonly user: Pick<User, 'email' | 'invitedAt'>
  },
  accountEmail: ExternalAccount['email'],
  protection: Protection,
): 'keep-email' | 'take-over' | 'accept' | 'confirm' {
  const isSame = user.email === (accountEmail?.email ?? null)
  const mayBelongToStranger = protection.isUnclaimed && !(user.email === null && isFirstAddress)
  if (mayBelongToStranger) {
    return user.invitedAt !== null && isSame && accountEmail?.isVerified ? 'accept' : 'take-over'
  }
  const wasAddedLater = credentialSince !== null
  return wasAddedLater && !isSame && protection.hasVerifiedFactor ? 'keep-email' : 'confirm'
}

/** Reads the protection of an account. This sign-in has just made a new one, so no stranger has been in it. */
async function readProtection(trx: Trx, { decision, user }: ExternalOwner): Promise<Protection> {
  if (decision === 'create') return { isUnclaimed: false, hasVerifiedFactor: false }
  return { isUnclaimed: await isUnclaimed(trx, user), hasVerifiedFactor: await hasVerifiedFactor(trx, user.id) }
}

/** The members of the account's row by which a stranger may come in. */
const CLEARED_WAYS_IN = {
  encrypted_password: null,
  email_change: '',
  email_change_confirm_status: 0,
  phone_change: '',
} as const

/** The other members of the row that a stranger may have written, where no admin has invited the user. */
const CLEARED_PROFILE = { raw_user_meta_data: {}, chosen_metadata: null, phone: null } as const
