import { randomUUID } from 'node:crypto'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { otpDisabled } from '../errors.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { askBeforeOwnUser } from '../hooks/before-user-created.ts'
import { createSignUp, type NewSignUp } from '../message-requests/create-sign-up.ts'
import { requestMessage } from '../message-requests/request-message.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { isSentInRequest, runHooked } from '../messages/hooked-transaction.ts'
import { takeSms } from '../messages/sms-allowance.ts'
import { issueSmsCode } from '../messages/sms-code.ts'
import { type HeldSms, holdSms, sendHeldSms } from '../messages/sms-job.ts'
import { requireInterval } from '../rate-limits/send-interval.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { signFirstSession } from '../sessions/session-view.ts'
import { requireSignUpsEnabled } from '../sign-ups/sign-up-switches.ts'
import { lockOrStageUser } from '../sign-ups/stage-user.ts'
import { isStaged } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { findUserByIdentifier } from '../users/user-repository.ts'
import type { SignUpDeps } from './sign-up.ts'

/** What a request for a code or a magic link works with. Where codes sign up, it is a sign-up too. */
export type OneTimeCodeDeps = Omit<SignUpDeps, 'outbound'>

/** A request for a message to sign in with. */
export interface OneTimeCodeInput {
  readonly identifier: UserIdentifier
  /** Whether an unknown identifier may become a user, once its code is entered. */
  readonly createUser: boolean
  /** The metadata of such a user. */
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/**
 * Requests a mail with a link and a code to sign in with.
 * @throws otpDisabled, signupDisabled, and what `requestMessage` and `createSignUp` throw
 */
export async function requestMagicLink(
  deps: OneTimeCodeDeps,
  { pkce, ...input }: OneTimeCodeInput & { readonly pkce: PkceChallenge | undefined },
): Promise<void> {
  const { identifier, context } = input
  const stage = await decideStaging(deps, input)
  const { codesSignUp } = deps.config.behaviours
  if (codesSignUp && (await signUpUnlessKnown(deps, { ...input, pkce, channel: 'sms' })) !== 'known') return
  const request = { purpose: 'magiclink', identifier, pkce, context } as const
  await requestMessage(deps, codesSignUp ? request : { ...request, stage })
}

/**
 * Sends a code to sign in with by SMS. Waits a moment, to report a number that the gateway refuses (reference: POST /otp).
 * @returns our own id of the SMS, also where there is no recipient
 * @throws otpDisabled, signupDisabled, smsTooSoon, smsSendFailed, and what `takeSms`, `runHooked` and `createSignUp` throw
 */
export async function sendPhoneCode(
  deps: OneTimeCodeDeps,
  { channel, ...input }: OneTimeCodeInput & { readonly channel: SmsChannel },
): Promise<string> {
  const messageId = randomUUID()
  const stage = await decideStaging(deps, input)
  if (deps.config.behaviours.codesSignUp) {
    if (deps.config.sms.autoconfirm) await signUpUnlessKnown(deps, { ...input, pkce: undefined, channel })
    else if (stage) await askBeforeOwnUser(deps, input)
  }
  const allowance = await takeSms(deps, input.identifier.value, input.context.limitKey)
  let held: HeldSms | undefined
  try {
    held = await storeCode(deps, { ...input, channel, stage, messageId })
  } finally {
    if (!held) await allowance.giveBack()
  }
  if (held && !isSentInRequest(deps, 'sms')) await sendHeldSms(deps, held)
  return messageId
}

type Stage = { readonly data: Readonly<Record<string, unknown>> } | undefined

/**
 * What an unknown identifier becomes. Looks for a user only where an unknown identifier is refused, where the answer reveals who
 * has an account anyway.
 */
async function decideStaging(
  { config, db }: Pick<AuthDeps, 'config' | 'db'>,
  { identifier, createUser, data, context }: OneTimeCodeInput,
): Promise<Stage> {
  const mayStage = createUser && !config.signup.disabled
  const user = mayStage ? undefined : await findUserByIdentifier(db, context.audience, identifier)
  if (user && !isStaged(user)) return undefined
  if (!createUser) throw otpDisabled()
  requireSignUpsEnabled(config)
  return { data }
}

/**
 * Signs an unknown identifier up, as POST /signup does with a password that nobody knows, and sends the confirmation of a user who
 * has not confirmed again. Under autoconfirm the user has confirmed by that, and gets the message to sign in.
 */
async function signUpUnlessKnown(
  deps: OneTimeCodeDeps,
  input: Omit<NewSignUp, 'password'>,
): Promise<'known' | 'confirmation-sent'> {
  const { config, db } = deps
  const { identifier, context } = input
  const isEmail = identifier.kind === 'email'
  const isKnown = async () => {
    const user = await findUserByIdentifier(db, context.audience, identifier)
    if (user === undefined || isStaged(user)) return false
    const confirmedAt = isEmail ? user.emailConfirmedAt : user.phoneConfirmedAt
    return confirmedAt !== null || (isEmail ? config.mail : config.sms).autoconfirm
  }
  if (await isKnown()) return 'known'
  requireSignUpsEnabled(config)
  const signedUp = await createSignUp(deps, { ...input, password: undefined }).catch(async (error: unknown) => {
    // A parallel request may have signed the same identifier up.
    if (await isKnown()) return undefined
    throw error
  })
  // The sign-up has begun a session, so its hooks are called, though nobody gets its token.
  if (signedUp?.verdict === 'signed-in') await signFirstSession(deps, signedUp.session)
  return signedUp?.verdict === 'confirm' ? 'confirmation-sent' : 'known'
}

interface PhoneCode extends OneTimeCodeInput {
  readonly channel: SmsChannel
  readonly stage: Stage
  readonly messageId: string
}

/** @returns the SMS; undefined for a test phone, and where there is no recipient */
function storeCode(
  deps: Omit<OneTimeCodeDeps, 'rateLimits'>,
  { identifier, stage, channel, messageId, context }: PhoneCode,
): Promise<HeldSms | undefined> {
  const { value: phone } = identifier
  return runHooked(deps, async (trx, hooked) => {
    await requireInterval(trx, hooked, { kind: 'sms', identifier: phone, audience: context.audience })
    const user = await lockOrStageUser(trx, hooked, { identifier, audience: context.audience, stage })
    if (!user) return undefined
    await updateUser(trx, user.id, { confirmation_sent_at: hooked.now() })
    const sms = await issueSmsCode(trx, hooked, { user, phone, tokenKind: 'sms', channel, messageId })
    const action = isStaged(user) ? 'user_confirmation_requested' : 'user_recovery_requested'
    await recordAudit(trx, hooked, { action, actor: user, ip: context.ip })
    return sms && holdSms(trx, hooked, sms)
  })
}
