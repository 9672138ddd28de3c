import { randomUUID } from 'node:crypto'
import { recordAudit } from '../audit/audit-log.ts'
import { parsePkce } from '../flows/pkce.ts'
import { askBeforeOwnUser } from '../hooks/user-created-job.ts'
import {
  decidePendingSignUp,
  type MagicLinkDeps,
  mailMagicLink,
  type PendingContent,
  signUpUnlessKnown,
  type WantedCode,
} from '../message-requests/one-time-code.ts'
import { isSentInRequest, runHooked } from '../messages/hooked-transaction.ts'
import { requireChannel, requireOneTimeCodesEnabled } from '../messages/message-request.ts'
import { issueSmsCode, takeSms } from '../messages/sms-code.ts'
import type { SmsChannel } from '../messages/sms-gateway.ts'
import { type HeldSms, holdSms, sendHeldSms } from '../messages/sms-job.ts'
import { requireInterval } from '../rate-limits/send-interval.ts'
import { addressMissingAtOtp, channelWithEmail, twoAddressesAtOtp } from '../request-errors.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { lockOrAddPendingSignUp } from '../sign-ups/insert-own-user.ts'
import { requireMetadata } from '../users/metadata.ts'
import { requireIdentifier } from '../users/require-phone.ts'
import { isPendingSignUp } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import type { SignUpDeps } from './sign-up.ts'

type OneTimeCodeDeps = Omit<SignUpDeps, 'outbound'> & MagicLinkDeps

/** The members of a request for a one-time code. Empty members count as absent. */
export interface OneTimeCodeFields {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly channel?: string | undefined
  readonly create_user?: boolean | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

/** The medium of the code. An SMS has an id of this service, even if it is not sent. */
export type RequestedCode = { readonly medium: 'email' } | { readonly medium: 'sms'; readonly messageId: string }

/**
 * Sends a mail with a link and a code, or an SMS with a code, for a sign-in (reference: POST /otp). The order of the checks
 * decides which error a client gets.
 */
export async function requestOneTimeCode(
  deps: OneTimeCodeDeps,
  { fields, readContext }: { readonly fields: OneTimeCodeFields; readonly readContext: () => Promise<RequestContext> },
): Promise<RequestedCode> {
  const { signup, sms } = deps.config
  requireOneAddress(fields)
  const data = requireMetadata(deps.config, fields.data)
  const wanted = { createUser: fields.create_user ?? true, data, context: await readContext() }
  if (fields.email) {
    requireOneTimeCodesEnabled(signup, 'email')
    const identifier = await requireIdentifier(deps, fields)
    await mailMagicLink(deps, { ...wanted, identifier, pkce: parsePkce(fields, signup.pkce) })
    return { medium: 'email' }
  }
  const channel = requireChannel(sms.provider, fields.channel)
  requireOneTimeCodesEnabled(signup, 'phone')
  return {
    medium: 'sms',
    messageId: await sendSms(deps, { ...wanted, identifier: await requireIdentifier(deps, fields), channel }),
  }
}

function requireOneAddress({ email, phone, channel }: OneTimeCodeFields): void {
  if (email && phone) throw twoAddressesAtOtp()
  if (email && channel) throw channelWithEmail()
  if (!email && !phone) throw addressMissingAtOtp()
}

interface WantedSms extends WantedCode {
  readonly channel: SmsChannel
}

/** Waits briefly, to report numbers that the gateway refuses. @returns this service's id of the SMS */
async function sendSms(deps: OneTimeCodeDeps, { channel, ...wanted }: WantedSms): Promise<string> {
  const messageId = randomUUID()
  const stage = await decidePendingSignUp(deps, wanted)
  if (deps.config.compatibility.createUserOnCodeRequest) {
    if (deps.config.sms.autoconfirm) await signUpUnlessKnown(deps, { ...wanted, pkce: undefined, channel })
    else if (stage) await askBeforeOwnUser(deps, wanted)
  }
  const allowance = await takeSms(deps, wanted.identifier.value, wanted.context.limitKey)
  const code = { ...wanted, channel, stage, messageId }
  const held = await storeCode(deps, code).catch(async (error: unknown) => {
    await allowance.giveBack()
    throw error
  })
  if (!held) await allowance.giveBackUnsent()
  if (held && !isSentInRequest(deps, 'sms')) {
    await sendHeldSms(deps, held).catch(async (error: unknown) => {
      await allowance.giveBackUnsent()
      throw error
    })
  }
  return messageId
}

interface PhoneCode extends WantedSms {
  readonly stage: PendingContent
  readonly messageId: string
}

/** @returns the SMS, or `undefined` for a test phone or without a recipient */
function storeCode(
  deps: Omit<OneTimeCodeDeps, 'rateLimits'>,
  { identifier, stage, channel, messageId, context }: PhoneCode,
): Promise<HeldSms | undefined> {
  const { value: phone } = identifier
  return runHooked(deps, async (trx, repeatable) => {
    await requireInterval(trx, repeatable, { kind: 'sms', identifier: phone, audience: context.audience })
    const user = await lockOrAddPendingSignUp(trx, repeatable, { identifier, audience: context.audience, stage })
    if (!user) return undefined
    await updateUser(trx, user.id, { confirmation_sent_at: repeatable.now() })
    const sms = await issueSmsCode(trx, repeatable, { user, phone, tokenKind: 'sms', channel, messageId })
    const action = isPendingSignUp(user) ? 'user_confirmation_requested' : 'user_recovery_requested'
    await recordAudit(trx, repeatable, { action, actor: user, ip: context.ip })
    return sms && holdSms(trx, repeatable, sms)
  })
}
