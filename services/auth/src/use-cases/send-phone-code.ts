import { randomUUID } from 'node:crypto'
import { recordAudit } from '../audit/audit-log.ts'
import { askBeforeOwnUser } from '../hooks/before-user-created.ts'
import {
  decideStaging,
  type OneTimeCodeInput,
  type Stage,
  signUpUnlessKnown,
} from '../message-requests/one-time-code.ts'
import { sendHeldSms } from '../messages/deliver-sms.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { isSentInRequest, runHooked } from '../messages/hooked-transaction.ts'
import { takeSms } from '../messages/sms-allowance.ts'
import { issueSmsCode } from '../messages/sms-code.ts'
import { type HeldSms, holdSms } from '../messages/sms-job.ts'
import { requireInterval } from '../rate-limits/send-interval.ts'
import { lockOrStageUser } from '../sign-ups/stage-user.ts'
import { isStaged } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import type { SignUpDeps } from './sign-up.ts'

/** The dependencies of a request for a code by SMS. Where it creates the user, it is a sign-up too. */
export type PhoneCodeDeps = Omit<SignUpDeps, 'outbound'>

/** A request for a code to sign in with by SMS. */
export interface SendPhoneCodeInput extends OneTimeCodeInput {
  readonly channel: SmsChannel
}

/**
 * Sends a code to sign in with by SMS. Waits a moment, to report a number that the gateway refuses (reference: POST /otp).
 * @returns our own id of the SMS, also where there is no recipient
 * @throws smsTooSoon, smsSendFailed, and what `decideStaging`, `signUpUnlessKnown`, `askBeforeOwnUser`,
 * `takeSms` and `runHooked` throw
 */
export async function sendPhoneCode(deps: PhoneCodeDeps, { channel, ...input }: SendPhoneCodeInput): Promise<string> {
  const messageId = randomUUID()
  const stage = await decideStaging(deps, input)
  if (deps.config.behaviours.createUserOnCodeRequest) {
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

interface PhoneCode extends SendPhoneCodeInput {
  readonly stage: Stage
  readonly messageId: string
}

/** @returns the SMS; undefined for a test phone, and where there is no recipient */
function storeCode(
  deps: Omit<PhoneCodeDeps, 'rateLimits'>,
  { identifier, stage, channel, messageId, context }: PhoneCode,
): Promise<HeldSms | undefined> {
  const { value: phone } = identifier
  return runHooked(deps, async (trx, repeatable) => {
    await requireInterval(trx, repeatable, { kind: 'sms', identifier: phone, audience: context.audience })
    const user = await lockOrStageUser(trx, repeatable, { identifier, audience: context.audience, stage })
    if (!user) return undefined
    await updateUser(trx, user.id, { confirmation_sent_at: repeatable.now() })
    const sms = await issueSmsCode(trx, repeatable, { user, phone, tokenKind: 'sms', channel, messageId })
    const action = isStaged(user) ? 'user_confirmation_requested' : 'user_recovery_requested'
    await recordAudit(trx, repeatable, { action, actor: user, ip: context.ip })
    return sms && holdSms(trx, repeatable, sms)
  })
}
