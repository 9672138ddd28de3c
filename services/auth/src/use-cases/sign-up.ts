import { randomUUID } from 'node:crypto'
import { violatedConstraint } from '@trestle/database/violations.ts'
import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { smsProviderMissing, userAlreadyExists } from '../errors.ts'
import type { PkceChallenge } from '../flow-states/pkce.ts'
import type { Identity } from '../identities/identity.ts'
import { touchThrottle } from '../rate-limits/send-throttle.ts'
import { createSession } from '../sessions/create-session.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { createFauxUser } from '../users/faux-user.ts'
import { isStaged, type User } from '../users/user.ts'
import { deleteUser, lockUserByIdentifier, type UserIdentifier, updateUser } from '../users/user-repository.ts'
import { insertOwnUser } from './insert-own-user.ts'
import { issueMailToken } from './issue-mail-token.ts'
import type { RequestContext } from './request-context.ts'

export interface SignUpInput {
  readonly identifier: UserIdentifier
  /** Has passed the policy. */
  readonly password: string
  readonly data: Readonly<Record<string, unknown>>
  readonly pkce: PkceChallenge | undefined
  readonly context: RequestContext
}

/** A session where no confirmation is needed, else a user record that tells nothing about an older account. */
export type SignUpResult =
  | { readonly verdict: 'signed-in'; readonly session: IssuedSession }
  | { readonly verdict: 'confirm'; readonly user: User; readonly identities: readonly Identity[] }

/** What the transaction decided. Each of these is committed, also the refusal. */
type Outcome = SignUpResult | { readonly verdict: 'taken' } | { readonly verdict: 'repeated'; readonly resent: boolean }

interface HashedSignUp extends SignUpInput {
  readonly passwordHash: string
}

/**
 * Signs a user up by email or phone (contract 4.2). Whether the identifier is taken shows in nothing: the password is
 * hashed, one audit entry written and the mail queued on every path (contract 3.4).
 */
export async function signUp(deps: AuthDeps, input: SignUpInput): Promise<SignUpResult> {
  const { config } = deps
  const isConfirmed = isAutoconfirmed(deps, input.identifier)
  // Until the gateways of contract 7.11 are built, no phone number can be asked to confirm itself.
  if (input.identifier.kind === 'phone' && !isConfirmed) throw smsProviderMissing()
  const allowance = await deps.rateLimits[input.identifier.kind === 'email' ? 'email' : 'sms'].take()
  let isSent = false
  try {
    const passwordHash = await deps.passwords.hash(input.password)
    const outcome = await signUpOnce(deps, { ...input, passwordHash })
    isSent = outcome.verdict === 'repeated' ? outcome.resent : outcome.verdict !== 'taken'
    if (outcome.verdict === 'taken') throw userAlreadyExists()
    if (outcome.verdict !== 'repeated') return outcome
  } finally {
    if (!isSent) await allowance.giveBack()
  }
  const { audience: aud } = input.context
  const ids = { userId: randomUUID(), identityId: randomUUID() }
  return {
    verdict: 'confirm',
    ...createFauxUser({ ...input, ...ids, aud, role: config.jwt.defaultRole, now: deps.now() }),
  }
}

/** Two requests with one identifier: the unique index lets one of them in, the other finds the first one's user. */
async function signUpOnce(deps: AuthDeps, input: HashedSignUp): Promise<Outcome> {
  const attempt = () => deps.db.transaction().execute((trx) => decide(trx, deps, input))
  try {
    return await attempt()
  } catch (error) {
    const constraint = violatedConstraint(error, deps.names)
    if (constraint !== 'users_email_key' && constraint !== 'users_phone_key') throw error
    return attempt()
  }
}

async function decide(trx: Transaction<AuthDatabase>, deps: AuthDeps, input: HashedSignUp): Promise<Outcome> {
  const holder = await lockUserByIdentifier(trx, input.identifier)
  if (holder && !isStaged(holder)) return repeat(trx, deps, input, holder)
  if (holder) await deleteUser(trx, holder.id)
  return create(trx, deps, input)
}

async function create(trx: Transaction<AuthDatabase>, deps: AuthDeps, input: HashedSignUp): Promise<Outcome> {
  const { identifier, context } = input
  const isConfirmed = isAutoconfirmed(deps, identifier)
  const { user, identity } = await insertOwnUser(trx, deps, { ...input, aud: context.audience, isConfirmed })
  const traits = { provider: identifier.kind }
  if (!isConfirmed) {
    await touch(trx, deps, identifier)
    await sendConfirmation(trx, deps, input, user)
    await recordAudit(trx, deps, { action: 'user_confirmation_requested', actor: user, ip: context.ip, traits })
    return { verdict: 'confirm', user, identities: [identity] }
  }
  await recordAudit(trx, deps, { action: 'user_signedup', actor: user, ip: context.ip, traits })
  const session = await createSession(trx, deps, user, { ...context, method: 'password' })
  return { verdict: 'signed-in', session }
}

/** Somebody has the identifier already: at most their pending confirmation is sent again. */
async function repeat(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  input: HashedSignUp,
  holder: User,
): Promise<Outcome> {
  const { identifier, context } = input
  const traits = { provider: identifier.kind }
  await recordAudit(trx, deps, { action: 'user_repeated_signup', actor: holder, ip: context.ip, traits })
  if (isAutoconfirmed(deps, identifier)) return { verdict: 'taken' }
  const waitMs = await touch(trx, deps, identifier)
  const isPending = identifier.kind === 'email' && holder.emailConfirmedAt === null
  if (!isPending || waitMs !== undefined) return { verdict: 'repeated', resent: false }
  await updateUser(trx, holder.id, { confirmation_sent_at: deps.now() })
  await sendConfirmation(trx, deps, input, holder)
  return { verdict: 'repeated', resent: true }
}

async function sendConfirmation(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { identifier, pkce, context }: SignUpInput,
  user: User,
): Promise<void> {
  await issueMailToken(trx, deps, {
    user,
    email: identifier.value,
    tokenKind: 'confirmation',
    mailKind: 'CONFIRMATION',
    linkType: 'signup',
    linkPath: deps.config.mail.linkPaths.confirmation,
    flow: { method: 'email/signup', pkce },
    context,
  })
}

/** The interval is noted on every path, so that POST /resend tells nothing either; a fresh signup does not wait for it. */
function touch(trx: Transaction<AuthDatabase>, deps: AuthDeps, identifier: UserIdentifier) {
  return touchThrottle(trx, deps.serverKeys.hmac, {
    kind: 'confirmation',
    identifier: identifier.value,
    intervalMs: deps.config.mail.intervalMs.confirmation,
    now: deps.now(),
  })
}

function isAutoconfirmed({ config }: Pick<AuthDeps, 'config'>, { kind }: UserIdentifier): boolean {
  return kind === 'email' ? config.mail.autoconfirm : config.sms.autoconfirm
}
