import { siteKey } from '@trestle/common/server/address-key.ts'
import { recordAudit, UNKNOWN_ACTOR } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import { otpExpired } from '../errors.ts'
import { findTestCode } from '../messages/sms-code.ts'
import { matchesCode } from '../one-time-tokens/one-time-token.ts'
import {
  type CodeAttempt,
  countCodeAttempt,
  deleteCodeAttempts,
  hashAttemptKey,
  type OneTimeToken,
  returnCodeAttempt,
} from '../one-time-tokens/one-time-token-repository.ts'
import {
  ACCEPTED_KINDS,
  isAccepted,
  parseVerifyBody,
  type VerifyFields,
  type VerifyType,
} from '../one-time-tokens/verify-request.ts'
import { type FailedCheckDeps, type FailedCheckKey, isBlocked, recordFailedCheck } from '../rate-limits/rate-limits.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { equalSecrets, type ServerKeys } from '../secrets/encrypted-secret.ts'
import { type SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import { type RedeemDeps, type Redeemed, redeemLink, redeemMessage } from '../sign-ups/redeem-message.ts'
import { requirePhone } from '../users/require-phone.ts'
import type { User } from '../users/user.ts'
import { findUserById, findUserByIdentifier } from '../users/user-repository.ts'

/** The dependencies of verifying a message for a session. Attempts are counted, because codes can be guessed. */
export type VerifyMessageDeps = RedeemDeps &
  SessionViewDeps &
  FailedCheckDeps & { readonly config: AuthConfig; readonly serverKeys: ServerKeys }

/** The session of a verified message, and the type of the message. `undefined` if its answer has no type. */
export interface VerifiedSession {
  readonly session: SessionView
  readonly type: string | undefined
}

/** A session, or `other-address-left` if an email change also needs its other address. */
export type VerifiedMessage =
  | ({ readonly verdict: 'session' } & VerifiedSession)
  | { readonly verdict: 'other-address-left' }

/** Exchanges the code or the link token of a message for a session (reference: POST /verify). */
export async function verifyMessage(
  deps: VerifyMessageDeps,
  input: {
    readonly fields: VerifyFields & { readonly password?: string | undefined }
    readonly context: RequestContext
  },
): Promise<VerifiedMessage> {
  const { fields, context } = input
  const { password } = fields
  const wanted = { ...parseVerifyBody(fields), context }
  const redeemed =
    wanted.kind === 'code'
      ? await verifyCode(deps, { ...wanted, identifier: await readPhone(deps, wanted.identifier), password })
      : await redeemLink(deps, { ...wanted, via: { kind: 'body', password } })
  if (redeemed.verdict === 'auth-code') throw new Error('a flow without redirect ended in an auth code')
  if (redeemed.verdict !== 'session') return redeemed
  return { ...redeemed, session: await signNewSession(deps, redeemed.session) }
}

async function readPhone(deps: VerifyMessageDeps, { kind, value }: UserIdentifier): Promise<UserIdentifier> {
  return { kind, value: kind === 'phone' ? await requirePhone(deps, value) : value }
}

interface VerifyCodeInput {
  readonly type: VerifyType
  /** The address that received the code. For an address change, the user does not own it yet. */
  readonly identifier: UserIdentifier
  readonly code: string
  readonly password: string | undefined
  readonly context: RequestContext
}

/**
 * Verifies a typed code. An unknown address gets the same answer as a wrong code, after the same work. A ban refuses only a
 * correct code, because the refusal reveals that the account exists.
 */
async function verifyCode(deps: VerifyMessageDeps, input: VerifyCodeInput): Promise<Redeemed> {
  const { type, identifier, context } = input
  const blocked = await isBlocked(deps, failedCheckOf(input))
  const owner = await findUserByIdentifier(deps.db, context.audience, identifier)
  if (owner && !blocked && type === 'sms' && mayRepeatTestCode(deps, input)) return redeemTestCode(deps, input, owner)
  const attempt = toCodeAttempt(deps, input)
  const token = await checkCode(deps, input, { attempt, owner, blocked })
  const user = owner?.id === token.userId ? owner : await findUserById(deps.db, token.userId)
  return user && !user.isSsoUser ? redeemCode(deps, input, { attempt, token, user }) : refuseCode()
}

/** Returns the identifier and the address for which a wrong code is counted. */
function failedCheckOf({ identifier, context }: VerifyCodeInput): FailedCheckKey {
  return { identifier: identifier.value, client: context.ip }
}

/** Whether this is the test code of the phone, and the profile allows its use at any time and any number of times. */
function mayRepeatTestCode(
  { config, now }: Pick<VerifyMessageDeps, 'config' | 'now'>,
  { identifier: { kind, value }, code }: VerifyCodeInput,
): boolean {
  if (!config.compatibility.acceptTestCodesRepeatedly || kind !== 'phone') return false
  const testCode = findTestCode(config.sms, value, now())
  return testCode !== undefined && equalSecrets(testCode, code)
}

/** Signs the owner of a test phone in, even if no message was requested. */
function redeemTestCode(deps: VerifyMessageDeps, input: VerifyCodeInput, owner: User): Promise<Redeemed> {
  return redeemMessage(deps, {
    ...input,
    user: owner,
    message: { kind: 'sms', identifier: input.identifier.value },
    secret: 'test-code',
    via: { kind: 'body', password: input.password },
    flow: { kind: 'implicit' },
    refuse: refuseCode,
  })
}

/** Returns the attempt of a request, with the keys under which wrong attempts are counted. */
function toCodeAttempt(
  { serverKeys: { hmac }, now }: Pick<VerifyMessageDeps, 'serverKeys' | 'now'>,
  { type, identifier, context: { audience, network, ip } }: VerifyCodeInput,
): CodeAttempt {
  const codes = { audience, identifier: identifier.value, kinds: ACCEPTED_KINDS[type] }
  const networkHash = network === undefined ? undefined : hashAttemptKey(hmac, codes, siteKey(ip))
  return { ...codes, keyHash: hashAttemptKey(hmac, codes), networkHash, network, now: now() }
}

/** Counts an attempt before it compares the code. A wrong code is a failed check. */
async function checkCode(
  deps: Pick<VerifyMessageDeps, 'config' | 'db' | 'logger' | 'now' | 'rateLimits' | 'serverKeys'>,
  input: VerifyCodeInput,
  {
    attempt,
    owner,
    blocked,
  }: {
    readonly attempt: CodeAttempt
    /** The user with the address. */
    readonly owner: User | undefined
    /** Whether a correct code counts as wrong, because too many checks have failed. */
    readonly blocked: boolean
  },
): Promise<StoredCode> {
  const candidates = await countCodeAttempt(deps.db, attempt, blocked ? 0 : deps.config.security.codeAttemptsMax)
  const token = matchCode(deps, input, owner, candidates)
  if (token) return token
  await recordFailedCheck(deps, failedCheckOf(input))
  // Record this for unknown addresses too, because the time of the entry would reveal which accounts exist.
  const { type, context } = input
  const event = {
    action: 'verification_failed',
    actor: owner ?? UNKNOWN_ACTOR,
    ip: context.ip,
    traits: { type },
  } as const
  await recordAudit(deps.db, deps, event)
  return refuseCode()
}

type StoredCode = OneTimeToken & { readonly codeHash: Buffer }

const NO_CODE = { codeHash: null, codeSalt: Buffer.alloc(16) } as const

/** Compares the code with each candidate, or with a dummy, so that the work is the same for any address. */
function matchCode(
  deps: Pick<VerifyMessageDeps, 'config' | 'serverKeys' | 'now'>,
  input: VerifyCodeInput,
  owner: User | undefined,
  candidates: readonly OneTimeToken[],
): StoredCode | undefined {
  const typed = { identifier: input.identifier.value, code: input.code }
  const mayBeLate = mayRepeatTestCode(deps, input)
  let found: StoredCode | undefined
  for (const token of candidates.length === 0 ? [undefined] : candidates) {
    const isRight = matchesCode(deps.serverKeys.hmacs, token ?? NO_CODE, typed)
    if (!isRight || !token?.codeHash || !isAccepted(input.type, token, owner)) continue
    const isLate = Date.parse(token.expiresAt) <= deps.now().getTime()
    if (!isLate || mayBeLate) found = { ...token, codeHash: token.codeHash }
  }
  return found
}

/** Uses up a correct code. A code that cannot be used yet (weak password) stays valid, without counting the attempt. */
async function redeemCode(
  deps: VerifyMessageDeps,
  input: VerifyCodeInput,
  { attempt, token, user }: { readonly attempt: CodeAttempt; readonly token: StoredCode; readonly user: User },
): Promise<Redeemed> {
  try {
    const redeemed = await redeemMessage(deps, {
      ...input,
      user,
      message: token,
      secret: { id: token.id, codeHash: token.codeHash },
      via: { kind: 'body', password: input.password },
      flow: { kind: 'implicit' },
      refuse: refuseCode,
    })
    await deleteCodeAttempts(deps.db, attempt)
    return redeemed
  } catch (error) {
    await returnCodeAttempt(deps.db, token.id)
    throw error
  }
}

function refuseCode(): never {
  throw otpExpired()
}
