import type { Behaviours } from '../config/behaviours.ts'
import type { Db, Trx } from '../database.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { callEndSessionWork } from '../flows/session-work-repository.ts'
import { deleteUnverifiedIdentities } from '../identities/external-identity-repository.ts'
import { setOwnIdentity } from './own-identity.ts'
import type { User } from './user.ts'
import { deleteWaysIn, updateUser } from './user-change-repository.ts'
import { isUnclaimed } from './user-repository.ts'

/** The dependencies of the take-over of an account. `confirmerOwnsAccount` is true in the strict profile. */
export interface ConfirmerDeps {
  readonly config: {
    readonly signup: { readonly confirmerOwnsAccount: boolean }
    readonly behaviours: Pick<Behaviours, 'confirmerOwnsAnonymousAccount'>
  }
  readonly db: Db
}

/**
 * Removes what a stranger may have left in an account that has just been confirmed: every way to sign in or stay signed in, and
 * pending changes. The account gets the password of the user who confirms, or none.
 * @param user locked, as they were before
 */
export async function takeOverAccount(
  trx: Trx,
  { now }: { readonly now: () => Date },
  { id }: User,
  passwordHash: string | undefined,
): Promise<void> {
  await deleteWaysIn(trx, id)
  await callEndSessionWork(trx, id, { scope: 'all' })
  const isClaimed = await deleteUnverifiedIdentities(trx, id)
  const owner = await updateUser(trx, id, {
    encrypted_password: passwordHash ?? null,
    // The metadata that the provider has sent belongs to somebody else.
    ...(isClaimed ? { raw_user_meta_data: {}, chosen_metadata: null } : {}),
  })
  if (isClaimed && owner.email !== null && owner.emailConfirmedAt !== null) {
    const identifier = { kind: 'email', value: owner.email } as const
    await setOwnIdentity(trx, owner, { identifier, isVerified: true, at: now() })
  }
}

/**
 * Whether the user who confirms an account takes it over. While nobody has claimed the account, a stranger may have made it with
 * somebody else's address, and every way to sign in may be the stranger's. So may the session and the password of an anonymous
 * user, who has asked for an address. A user whom a provider has made without an address owns the account already.
 * @param user as they were before the confirmation
 */
export async function confirmerTakesOver({ config, db }: ConfirmerDeps, user: User): Promise<boolean> {
  const { email, phone, isAnonymous } = user
  const { signup, behaviours } = config
  const mayBeOpen = isAnonymous
    ? behaviours.confirmerOwnsAnonymousAccount
    : signup.confirmerOwnsAccount && (email !== null || phone !== null)
  return mayBeOpen && isUnclaimed(db, user)
}

/**
 * Whether an account waits for its first sign-in, so that the invited user may choose how to sign in. Once somebody has signed in
 * or has a second factor, an invitation proves only that the address is theirs: an admin may have set it since, and anybody can
 * have its confirmation sent again.
 */
export async function awaitsFirstSignIn(
  { db }: Pick<ConfirmerDeps, 'db'>,
  { id, lastSignInAt }: Pick<User, 'id' | 'lastSignInAt'>,
): Promise<boolean> {
  return lastSignInAt === null && !(await hasVerifiedFactor(db, id))
}
