import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Db, Trx } from '../database.ts'
import { emailExists, phoneExists, phoneExistsForAdmin } from '../errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { callEndSessionWork } from '../flows/flow-repository.ts'
import { type Identity, ownIdentityData } from '../identities/identity.ts'
import { ACCOUNT_KEY, deleteUnverifiedIdentities } from '../identities/identity-repository.ts'
import { toTimestamp } from '../records/timestamp.ts'
import type { IdentifierKind, UserIdentifier } from '../requests/fields.ts'
import { CLEARED_VALUES, isPendingSignUp, NEW_USER, type User } from './user.ts'
import {
  deletePendingSignUp,
  deleteWaysIn,
  EMAIL_KEYS,
  PHONE_KEY,
  setOwnIdentity,
  updateProviders,
  updateUser,
} from './user-change-repository.ts'
import {
  callReleaseEmail,
  deleteUnusedIdentifier,
  findIdentifierOwner,
  isIdentifierKept,
  isUnclaimed,
  lockIdentifierOwner,
} from './user-repository.ts'

/** Refuses an identifier that another user has, by the error for its kind and for who asks. */
export type RefuseTaken = (kind: IdentifierKind) => never

/**
 * Requires that no user but `userId` owns an identifier, as far as this transaction sees. A pending sign-up that owns it is
 * deleted (reference: Pending sign-ups). Another owner is not locked, since two users who want each other's identifier would
 * deadlock.
 */
export async function claimIdentifier(
  trx: Trx,
  identifier: UserIdentifier,
  { userId, refuse }: { readonly userId: string | undefined; readonly refuse: RefuseTaken },
): Promise<void> {
  if ((await releaseIdentifier(trx, identifier, userId)) !== 'free') refuse(identifier.kind)
}

/**
 * Claims an email as `claimIdentifier` does, in a transaction of `withUniqueAccount`, which looks again when a pending sign-up
 * has changed meanwhile. @throws emailExists, StaleView
 */
export async function claimAccountEmail(trx: Trx, email: string, userId: string): Promise<void> {
  const outcome = await releaseIdentifier(trx, { kind: 'email', value: email }, userId)
  if (outcome === 'changed') throw new StaleView()
  if (outcome === 'taken') refuseTakenEmail()
}

/**
 * Locks the owner of an identifier as `lockIdentifierOwner` does, before another person proves to be the owner. An unverified
 * email of a provider is released first. The account may belong to a stranger who waits until the owner of the email confirms it.
 *
 * Lock order: the account that loses the email, or its owner. No transaction takes both: once an account has lost the email,
 * nobody owns it.
 */
export async function releaseAndLockOwner(trx: Trx, identifier: UserIdentifier, at: Date): Promise<User | undefined> {
  if (identifier.kind === 'email') await callReleaseEmail(trx, identifier.value, at)
  return lockIdentifierOwner(trx, identifier)
}

/**
 * Takes an identifier from an unused account for its proven owner (reference: Unused accounts). A stranger who signs up with the
 * address of another person, and never confirms it, keeps nobody out.
 *
 * Lock order: the user, the unused account. Nobody is signed in to an unused account, so a transaction that has locked one waits
 * for no other user.
 */
export async function releaseUnused(trx: Trx, identifier: UserIdentifier, at: Date): Promise<void> {
  const account = await deleteUnusedIdentifier(trx, identifier, at)
  if (account) await updateProviders(trx, account)
}

/**
 * How often the user of an identifier is searched for, or created. An attempt loses when another request creates the user at that
 * moment. The next one finds and locks that user, so a third is needed only if the user was deleted meanwhile.
 */
const CREATION_ATTEMPTS_MAX = 5

/**
 * Returns the user that an attempt finds or creates. Tries again when another request has just taken the identifier.
 * @param attempt returns `taken` when its insert finds that another user has the identifier
 * @throws Error when every attempt has lost, and what `attempt` throws
 */
export async function getOrCreate<Found>(attempt: () => Promise<Found | 'taken'>): Promise<Found> {
  for (let attempts = 0; attempts < CREATION_ATTEMPTS_MAX; attempts += 1) {
    const found = await attempt()
    if (found !== 'taken') return found
  }
  throw new Error('a user is made and deleted again and again')
}

export function refuseTaken(kind: IdentifierKind): never {
  if (kind === 'email') refuseTakenEmail()
  throw phoneExists()
}

/** Refuses an identifier of another user to an admin. The text about a phone differs for admins. */
export function refuseTakenForAdmin(kind: IdentifierKind): never {
  if (kind === 'email') refuseTakenEmail()
  throw phoneExistsForAdmin()
}

export function refuseTakenEmail(): never {
  throw emailExists()
}

/** Deletes the pending sign-up that has an identifier. `changed`: a concurrent request has changed that user meanwhile. */
async function releaseIdentifier(
  trx: Trx,
  identifier: UserIdentifier,
  userId: string | undefined,
): Promise<'free' | 'taken' | 'changed'> {
  const owner = await findIdentifierOwner(trx, identifier)
  if (!owner || owner.id === userId) return 'free'
  if (!isPendingSignUp(owner)) return 'taken'
  return (await deletePendingSignUp(trx, owner.id)) ? 'free' : 'changed'
}

/**
 * Requires an identifier without a visible owner, before the user proves it. A pending sign-up does not count, and neither does
 * an unused account, which loses the identifier to its proven owner.
 */
export async function requireNewIdentifier(
  db: Db,
  user: Pick<User, 'id' | IdentifierKind>,
  identifier: UserIdentifier,
): Promise<void> {
  const { kind, value } = identifier
  if (user[kind] === value || (await isIdentifierKept(db, identifier))) refuseTaken(kind)
}

/** Requires that the user of an email belongs to an audience. In any other audience the email counts as taken. */
export function requireOwnerAudience(owner: Pick<User, 'audience'>, audience: string): void {
  if (owner.audience !== audience) refuseTakenEmail()
}

/** Requires that the user of an email may be signed up or invited once more, in an audience. */
export function requireUnconfirmed(owner: Pick<User, 'audience' | 'emailConfirmedAt'>, audience: string): void {
  requireOwnerAudience(owner, audience)
  if (owner.emailConfirmedAt !== null) refuseTakenEmail()
}

/** Whether a user other than `userId` has an identifier, as far as can be seen. A pending sign-up does not count. */
export async function isTaken(db: Db, identifier: UserIdentifier, userId: string): Promise<boolean> {
  const owner = await findIdentifierOwner(db, identifier)
  return owner !== undefined && owner.id !== userId && !isPendingSignUp(owner)
}

/** The unique indexes that find a race: their database, and their names. */
interface IndexedDatabase {
  readonly db: Db
  readonly names: Names
}

/**
 * Runs a transaction that gives a user an identifier. The unique index finds an identifier that another request takes between the
 * look and the write, and the second attempt sees its owner.
 */
export async function withUniqueIdentifiers<Result>(
  { db, names }: IndexedDatabase,
  refuse: RefuseTaken,
  run: (trx: Trx) => Promise<Result>,
): Promise<Result> {
  const isRace = (error: unknown) => violates(error, names, ...EMAIL_KEYS, PHONE_KEY)
  try {
    return await retryRaces(db, { isRace, attemptsMax: 2 }, run)
  } catch (error) {
    if (!isRace(error)) throw error
    return refuse(violates(error, names, PHONE_KEY) ? 'phone' : 'email')
  }
}

/** An answer of an earlier query has changed within the transaction: another request was first. */
export class StaleView extends Error {
  override readonly name = 'StaleView'
}

/** Each failure means that another request has succeeded, so only so many requests about one user at once fail. */
const ACCOUNT_ATTEMPTS_MAX = 10

/**
 * Runs a transaction that decides whose an external account is. Runs it again when another request has taken the account or its
 * address meanwhile. The unique indexes find that, and the next attempt sees the owner.
 */
export function withUniqueAccount<Result>(
  { db, names }: IndexedDatabase,
  run: (trx: Trx) => Promise<Result>,
): Promise<Result> {
  const isRace = (error: unknown) => error instanceof StaleView || violates(error, names, ...EMAIL_KEYS, ACCOUNT_KEY)
  return retryRaces(db, { isRace, attemptsMax: ACCOUNT_ATTEMPTS_MAX }, run)
}

/** Runs a transaction again when another request was first. */
async function retryRaces<Result>(
  db: Db,
  { isRace, attemptsMax }: { readonly isRace: (error: unknown) => boolean; readonly attemptsMax: number },
  run: (trx: Trx) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transactAgain(db, run)
    } catch (error) {
      if (!isRace(error) || attempt === attemptsMax) throw error
    }
  }
}

/** The dependencies of the take-over of an account. `confirmerOwnsAccount` is true in the strict profile. */
export interface ConfirmerDeps {
  readonly config: {
    readonly signup: { readonly confirmerOwnsAccount: boolean }
    readonly compatibility: Pick<CompatibilityOptions, 'confirmerOwnsAnonymousAccount'>
  }
  readonly db: Db
}

/**
 * Removes the possible traces of a stranger from an account that has just been confirmed. These are all ways to sign in or stay
 * signed in, and pending changes. The account gets the password of the user who confirms, or none.
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
    // The metadata of the provider belongs to another person.
    ...(isClaimed ? CLEARED_VALUES : {}),
  })
  if (isClaimed && owner.email !== null && owner.emailConfirmedAt !== null) {
    const identifier = { kind: 'email', value: owner.email } as const
    await setOwnIdentity(trx, owner, { identifier, isVerified: true, at: now() })
  }
}

/**
 * Whether the user who confirms an account takes it over. A stranger may have made an unclaimed account with the address of
 * another person, and may own every way to sign in to it. So may the session and the password of an anonymous user, who has asked
 * for an address. A user that a provider has made without an address owns the account already.
 * @param user as they were before the confirmation
 */
export async function confirmerTakesOver({ config, db }: ConfirmerDeps, user: User): Promise<boolean> {
  const { email, phone, isAnonymous } = user
  const { signup, compatibility } = config
  const mayBeOpen = isAnonymous
    ? compatibility.confirmerOwnsAnonymousAccount
    : signup.confirmerOwnsAccount && (email !== null || phone !== null)
  return mayBeOpen && isUnclaimed(db, user)
}

/**
 * Whether an account waits for its first sign-in, so that the invited user may choose how to sign in. After the first sign-in or
 * with a second factor, an invitation proves only the address. An admin may have set it since, and anybody can have its
 * confirmation sent again.
 */
export async function awaitsFirstSignIn(
  { db }: Pick<ConfirmerDeps, 'db'>,
  { id, lastSignInAt }: Pick<User, 'id' | 'lastSignInAt'>,
): Promise<boolean> {
  return lastSignInAt === null && !(await hasVerifiedFactor(db, id))
}

/** The values of a user who has just signed up. The same values make the answer to a duplicate sign-up. */
interface UnconfirmedUserInput {
  readonly identifier: UserIdentifier
  readonly data: Readonly<Record<string, unknown>>
  readonly audience: string
  readonly role: string
  /** Random UUIDs (version 4), stored or not. */
  readonly userId: string
  readonly identityId: string
  readonly now: Date
}

/** A user who has just signed up, or seems to have, and their only identity. */
export interface UnconfirmedUser {
  readonly user: User
  readonly identities: readonly Identity[]
}

/**
 * Makes the answer of a sign-up that waits for its confirmation. A sign-up with a taken identifier gets the answer of the same
 * function, with ids that nobody has. So it looks like a fresh sign-up (reference: Duplicate sign-ups).
 */
export function buildUnconfirmedUser(input: UnconfirmedUserInput): UnconfirmedUser {
  const { identifier, now, userId } = input
  const at = toTimestamp(now)
  const provider = identifier.kind
  const user: User = {
    ...NEW_USER,
    id: userId,
    audience: input.audience,
    role: input.role,
    email: provider === 'email' ? identifier.value : null,
    emailAsWritten: provider === 'email' ? identifier.value : null,
    phone: provider === 'phone' ? identifier.value : null,
    confirmationSentAt: at,
    appMetadata: { provider, providers: [provider] },
    userMetadata: input.data,
    createdAt: at,
    updatedAt: at,
  }
  const data = ownIdentityData(provider, { userId, value: identifier.value }, input.data)
  const identity: Identity = {
    id: input.identityId,
    userId,
    provider,
    providerId: userId,
    data,
    email: typeof data.email === 'string' ? data.email.toLowerCase() : null,
    lastSignInAt: null,
    createdAt: at,
    updatedAt: at,
  }
  return { user, identities: [identity] }
}

/** Makes a user without an identifier, before the row is written. */
export function createAnonymousUser(input: Omit<UnconfirmedUserInput, 'identifier' | 'identityId'>): UnconfirmedUser {
  const at = toTimestamp(input.now)
  const user: User = {
    ...NEW_USER,
    id: input.userId,
    audience: input.audience,
    role: input.role,
    email: null,
    emailAsWritten: null,
    phone: null,
    confirmationSentAt: null,
    appMetadata: {},
    userMetadata: input.data,
    isAnonymous: true,
    createdAt: at,
    updatedAt: at,
  }
  return { user, identities: [] }
}
