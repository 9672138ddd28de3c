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

/** Refuses another user's identifier. The error depends on its kind and on the caller. */
export type RefuseTaken = (kind: IdentifierKind) => never

/**
 * Requires that no user except `userId` visibly owns an identifier. Deletes a pending sign-up that owns it (reference: Pending
 * sign-ups). Another owner is not locked, because two users who want each other's identifiers would deadlock.
 */
export async function claimIdentifier(
  trx: Trx,
  identifier: UserIdentifier,
  { userId, refuse }: { readonly userId: string | undefined; readonly refuse: RefuseTaken },
): Promise<void> {
  if ((await releaseIdentifier(trx, identifier, userId)) !== 'free') refuse(identifier.kind)
}

/**
 * Claims an email as `claimIdentifier` does, in a transaction of `withUniqueAccount`. That transaction runs again if a pending
 * sign-up has changed in the meantime. @throws emailExists, StaleView
 */
export async function claimAccountEmail(trx: Trx, email: string, userId: string): Promise<void> {
  const outcome = await releaseIdentifier(trx, { kind: 'email', value: email }, userId)
  if (outcome === 'changed') throw new StaleView()
  if (outcome === 'taken') refuseTakenEmail()
}

/**
 * Locks the owner of an identifier as `lockIdentifierOwner` does, before a person proves that they own it. First releases an
 * email that a provider gave without verification. That account may belong to a stranger who waits until the owner of the email
 * confirms it.
 *
 * Lock order: the account that loses the email, or the owner. No transaction locks both, because an account that has lost the
 * email no longer owns it.
 */
export async function releaseAndLockOwner(trx: Trx, identifier: UserIdentifier, at: Date): Promise<User | undefined> {
  if (identifier.kind === 'email') await callReleaseEmail(trx, identifier.value, at)
  return lockIdentifierOwner(trx, identifier)
}

/**
 * Takes an identifier from an unused account for its proven owner (reference: Unused accounts). A stranger who signs up with
 * another person's address and never confirms it cannot block that person.
 *
 * Lock order: the user, then the unused account. Nobody is signed in to an unused account, so a transaction that has locked one
 * waits for no other user.
 */
export async function releaseUnused(trx: Trx, identifier: UserIdentifier, at: Date): Promise<void> {
  const account = await deleteUnusedIdentifier(trx, identifier, at)
  if (account) await updateProviders(trx, account)
}

/**
 * How often to find or create the user of an identifier. An attempt fails if another request creates the user at that moment. The
 * next attempt finds that user, so a third is needed only if the user was deleted in between.
 */
const CREATION_ATTEMPTS_MAX = 5

/**
 * Finds or creates a user. Tries again if another request has just taken the identifier.
 * @param attempt returns `taken` if its insert finds that another user has the identifier
 * @throws Error if every attempt fails, and the errors of `attempt`
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

/** Refuses another user's identifier to an admin. Admins get a different text about a phone. */
export function refuseTakenForAdmin(kind: IdentifierKind): never {
  if (kind === 'email') refuseTakenEmail()
  throw phoneExistsForAdmin()
}

export function refuseTakenEmail(): never {
  throw emailExists()
}

/** Deletes a pending sign-up that has an identifier. `changed`: a concurrent request has changed that user. */
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
 * Requires an identifier without a visible owner, before the user proves it. Pending sign-ups do not count. Unused accounts do
 * not count either, because they lose the identifier to its proven owner.
 */
export async function requireNewIdentifier(
  db: Db,
  user: Pick<User, 'id' | IdentifierKind>,
  identifier: UserIdentifier,
): Promise<void> {
  const { kind, value } = identifier
  if (user[kind] === value || (await isIdentifierKept(db, identifier))) refuseTaken(kind)
}

/** Requires that the user of an email belongs to this audience. In other audiences the email counts as taken. */
export function requireOwnerAudience(owner: Pick<User, 'audience'>, audience: string): void {
  if (owner.audience !== audience) refuseTakenEmail()
}

/** Requires that the user of an email belongs to this audience and may be signed up or invited again. */
export function requireUnconfirmed(owner: Pick<User, 'audience' | 'emailConfirmedAt'>, audience: string): void {
  requireOwnerAudience(owner, audience)
  if (owner.emailConfirmedAt !== null) refuseTakenEmail()
}

/** Whether another user than `userId` visibly has an identifier. Pending sign-ups do not count. */
export async function isTaken(db: Db, identifier: UserIdentifier, userId: string): Promise<boolean> {
  const owner = await findIdentifierOwner(db, identifier)
  return owner !== undefined && owner.id !== userId && !isPendingSignUp(owner)
}

interface IndexedDatabase {
  readonly db: Db
  readonly names: Names
}

/**
 * Runs a transaction that gives a user an identifier. If another request takes the identifier in between, the unique index
 * reports it, and the second attempt sees the new owner.
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

/** An earlier query's answer changed during the transaction, because another request was first. */
export class StaleView extends Error {
  override readonly name = 'StaleView'
}

/** Each failure means that another request has succeeded, so more concurrent requests about one user may fail. */
const ACCOUNT_ATTEMPTS_MAX = 10

/**
 * Runs a transaction that decides who owns an external account. Runs it again if another request has taken the account or its
 * address. The unique indexes report this, and the next attempt sees the owner.
 */
export function withUniqueAccount<Result>(
  { db, names }: IndexedDatabase,
  run: (trx: Trx) => Promise<Result>,
): Promise<Result> {
  const isRace = (error: unknown) => error instanceof StaleView || violates(error, names, ...EMAIL_KEYS, ACCOUNT_KEY)
  return retryRaces(db, { isRace, attemptsMax: ACCOUNT_ATTEMPTS_MAX }, run)
}

/** Runs a transaction again if another request was first. */
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

/** The dependencies of an account take-over. `confirmerOwnsAccount` is `true` in the strict profile. */
export interface ConfirmerDeps {
  readonly config: {
    readonly signup: { readonly confirmerOwnsAccount: boolean }
    readonly compatibility: Pick<CompatibilityOptions, 'confirmerOwnsAnonymousAccount'>
  }
  readonly db: Db
}

/**
 * Removes all possible traces of a stranger from an account that was just confirmed: ways to sign in or stay signed in, and
 * pending changes. The account gets the password of the confirming user, or none.
 * @param user the locked user before the confirmation
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
    // The provider's metadata may belong to another person.
    ...(isClaimed ? CLEARED_VALUES : {}),
  })
  if (isClaimed && owner.email !== null && owner.emailConfirmedAt !== null) {
    const identifier = { kind: 'email', value: owner.email } as const
    await setOwnIdentity(trx, owner, { identifier, isVerified: true, at: now() })
  }
}

/**
 * Whether the user who confirms an account takes it over. A stranger may have created an unclaimed account with another person's
 * address, and may own every way to sign in. The same applies to the session and password of an anonymous user who has requested
 * an address. A user whom a provider created without an address already owns the account.
 * @param user the user before the confirmation
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
 * Whether an account waits for its first sign-in, so that the invited user may choose how to sign in. After that, or with a
 * second factor, an invitation proves only the address. An admin may have set the address since, and anyone can have its
 * confirmation sent again.
 */
export async function awaitsFirstSignIn(
  { db }: Pick<ConfirmerDeps, 'db'>,
  { id, lastSignInAt }: Pick<User, 'id' | 'lastSignInAt'>,
): Promise<boolean> {
  return lastSignInAt === null && !(await hasVerifiedFactor(db, id))
}

/** The values of a new user. The answer to a duplicate sign-up is built from the same values. */
interface UnconfirmedUserInput {
  readonly identifier: UserIdentifier
  readonly data: Readonly<Record<string, unknown>>
  readonly audience: string
  readonly role: string
  /** Random UUIDs (version 4). They may never be stored. */
  readonly userId: string
  readonly identityId: string
  readonly now: Date
}

/** A user who has just signed up, or appears to have, with their only identity. */
export interface UnconfirmedUser {
  readonly user: User
  readonly identities: readonly Identity[]
}

/**
 * Creates the answer of a sign-up that waits for its confirmation. A sign-up with a taken identifier also gets this answer, with
 * random ids, so it looks like a new sign-up (reference: Duplicate sign-ups).
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

/** Creates a user without an identifier. The row is written later. */
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
