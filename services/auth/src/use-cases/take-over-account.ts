import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { deleteFinishedFlows } from '../flows/flow-repository.ts'
import { deleteUnverifiedIdentities } from '../identities/external-identity-repository.ts'
import { setOwnIdentity } from '../users/own-identity.ts'
import type { User } from '../users/user.ts'
import { deleteWaysIn, updateUser } from '../users/user-change-repository.ts'
import { isUnclaimed } from '../users/user-repository.ts'

/**
 * Whether an account is all that of whoever confirms it: where it is nobody's yet, all by which it may be entered may be a
 * stranger's, who has used the address of somebody else. Who has no address so far, and is known by a provider, is none.
 * @param user as they were before the confirmation
 */
export async function confirmerOwns({ config, db }: Pick<AuthDeps, 'config' | 'db'>, user: User): Promise<boolean> {
  const { email, phone, isAnonymous } = user
  const mayBeOpen = config.signup.confirmerOwnsAccount && (email !== null || phone !== null || isAnonymous)
  return mayBeOpen && isUnclaimed(db, user)
}

/**
 * Whether an account waits for its first sign-in, so that who is invited to it may say how they sign in from then on. Once
 * somebody has signed in, or has a second factor, the address proves no more than that it is theirs: an admin may have set it
 * since, and anybody has its confirmation sent again.
 */
export async function awaitsFirstSignIn(
  { db }: Pick<AuthDeps, 'db'>,
  { id, lastSignInAt }: Pick<User, 'id' | 'lastSignInAt'>,
): Promise<boolean> {
  return lastSignInAt === null && !(await hasVerifiedFactor(db, id))
}

/**
 * Takes what strangers may have left in an account that has just been confirmed: every way to sign in or stay signed in, and
 * changes that wait. The password is that of whoever confirms, or none.
 * @param user locked, as they were before
 */
export async function takeOverAccount(
  trx: Transaction<AuthDatabase>,
  { now }: Pick<AuthDeps, 'now'>,
  { id }: User,
  passwordHash: string | undefined,
): Promise<void> {
  await deleteWaysIn(trx, id)
  await deleteFinishedFlows(trx, id)
  const isClaimed = await deleteUnverifiedIdentities(trx, id)
  const owner = await updateUser(trx, id, {
    encrypted_password: passwordHash ?? null,
    email_change: '',
    email_change_confirm_status: 0,
    phone_change: '',
    // What the provider has told of somebody else.
    ...(isClaimed ? { raw_user_meta_data: {} } : {}),
  })
  if (isClaimed && owner.email !== null && owner.emailConfirmedAt !== null) {
    const identifier = { kind: 'email', value: owner.email } as const
    await setOwnIdentity(trx, owner, { identifier, isVerified: true, at: now() })
  }
}
