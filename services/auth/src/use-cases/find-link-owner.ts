import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { emailExists, emailUnknown, secureChangeOff } from '../errors.ts'
import { hasClaimedEmail } from '../identities/claimed-email.ts'
import type { LinkType } from '../one-time-tokens/link-type.ts'
import { deleteTokensOfKinds } from '../one-time-tokens/one-time-token-repository.ts'
import { requireSignUpPassword } from '../passwords/password-policy.ts'
import { hashOfUnknownPassword } from '../passwords/stored-hash.ts'
import { mergeMetadata } from '../users/metadata.ts'
import { keepSignUpContent } from '../users/sign-up-content-repository.ts'
import { isStaged, type User } from '../users/user.ts'
import {
  deleteStagedUser,
  findIdentifierHolder,
  lockOwnerOfIdentifier,
  lockUserByIdentifier,
  updateUser,
} from '../users/user-repository.ts'
import { isTaken } from './claim-identifier.ts'
import { insertOwnUser } from './insert-own-user.ts'
import { findOrMakeInvited } from './invite-user.ts'
import type { RequestContext } from './request-context.ts'

/** What a link is wanted for. Addresses are normalised. */
export interface WantedLink {
  readonly type: LinkType
  readonly email: string
  /** Of a change of email. */
  readonly newEmail: string
  /** Of a signup. */
  readonly password: string | undefined
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/** Whom a link is for. */
export interface LinkOwner {
  readonly user: User
  readonly type: LinkType
  /** The address that the link confirms. */
  readonly address: string
}

interface Search extends WantedLink {
  /** Of `password`. */
  readonly passwordHash: string | undefined
}

/**
 * Finds or makes the user of a link (reference: Generated links).
 * @throws emailExists, emailUnknown, secureChangeOff, validationFailed, weakPassword
 */
export async function findLinkOwner(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  search: Search,
): Promise<LinkOwner> {
  const { type, email: address } = search
  if (type === 'invite') return { user: await findOrMakeInvited(trx, deps, search), type, address }
  const user = await lockKnownUser(trx, deps, search)
  if (type === 'signup' || (type === 'magiclink' && !user)) {
    const signedUp = await findOrSignUp(trx, deps, user, search)
    // Another request has just made them.
    return signedUp ? { user: signedUp, type: 'signup', address } : findLinkOwner(trx, deps, search)
  }
  if (!user) throw emailUnknown()
  if (type === 'magiclink' || type === 'recovery') {
    await keepSignUpContent(trx, user, { kind: 'recovery', aud: user.aud, data: {}, passwordHash: null })
    return { user, type, address }
  }
  return { user, type, address: await prepareChange(trx, deps, user, search) }
}

/** Nobody who is staged, nor of another audience: but the address of such a one is taken. */
async function lockKnownUser(
  trx: Transaction<AuthDatabase>,
  { now }: Pick<AuthDeps, 'now'>,
  { type, email, context }: Search,
): Promise<User | undefined> {
  const identifier = { kind: 'email', value: email } as const
  const mayMake = type === 'signup' || type === 'magiclink'
  const holder = await (mayMake ? lockOwnerOfIdentifier(trx, identifier, now()) : lockUserByIdentifier(trx, identifier))
  if (!holder || isStaged(holder)) return undefined
  if (type === 'recovery' && (await hasClaimedEmail(trx, holder))) return undefined
  if (holder.aud === context.audience) return holder
  if (mayMake) throw emailExists()
  return undefined
}

/** What an admin makes or asks for is no forgotten signup. */
const KEPT = { keep_unconfirmed: true }

/** Somebody who has not confirmed yet gets the data added. A magic link for somebody unknown needs no password. */
async function findOrSignUp(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User | undefined,
  { type, email, context, password, data, passwordHash }: Search,
): Promise<User | undefined> {
  if (user) {
    if (user.emailConfirmedAt !== null) throw emailExists()
    const content = { kind: 'confirmation', aud: user.aud, data, passwordHash: passwordHash ?? null } as const
    await keepSignUpContent(trx, user, content)
    return updateUser(trx, user.id, { ...KEPT, raw_user_meta_data: mergeMetadata(user.userMetadata, data) })
  }
  if (type === 'signup') requireSignUpPassword(deps.config.passwords.policy, password)
  const identifier = { kind: 'email', value: email } as const
  const holder = await findIdentifierHolder(trx, identifier)
  if (holder && isStaged(holder)) await deleteStagedUser(trx, holder.id)
  const stored = passwordHash ?? hashOfUnknownPassword(deps.randomBytes)
  const wanted = { identifier, aud: context.audience, passwordHash: stored, data: mergeMetadata({}, data), since: KEPT }
  return insertOwnUser(trx, deps, wanted)
}

/** Makes a change of email pending, as if nothing had been confirmed yet. @returns the address that the link confirms */
async function prepareChange(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { type, email, newEmail }: Search,
): Promise<string> {
  if (type === 'email_change_current' && !deps.config.mail.secureEmailChange) throw secureChangeOff()
  const isOwn = newEmail === user.email
  if (isOwn || (await isTaken(trx, { kind: 'email', value: newEmail }, user.id))) throw emailExists()
  // Whoever agrees with their current address agrees to this very change.
  if (user.emailChange !== newEmail)
    await deleteTokensOfKinds(trx, user.id, ['email_change_new', 'email_change_current'])
  const change = { email_change: newEmail, email_change_confirm_status: 0, email_change_asked_at: deps.now() }
  await updateUser(trx, user.id, change)
  return type === 'email_change_current' ? email : newEmail
}
