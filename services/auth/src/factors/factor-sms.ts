import { randomUUID } from 'node:crypto'
import type { AuthDeps } from '../deps.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { renderText } from '../messages/mail-template.ts'
import type { SmsJob } from '../messages/sms-job.ts'
import { findTestCode } from '../messages/test-code.ts'
import { codeMatches, hashCode, makeCode } from '../one-time-tokens/one-time-token.ts'

export interface FactorSms {
  readonly userId: string
  readonly challengeId: string
  /** Normalised. */
  readonly phone: string
  readonly channel: SmsChannel
  readonly expiresAt: Date
}

/** The code of a challenge as it is to be stored, and the SMS; undefined for a phone of SMS_TEST_OTP. */
export interface PreparedFactorSms {
  readonly codeHash: Buffer
  readonly sms: SmsJob | undefined
}

/** Makes the code that a phone, as a second factor, is sent. */
export function prepareFactorSms(
  { config, now, randomBytes, serverKeys }: Pick<AuthDeps, 'config' | 'now' | 'randomBytes' | 'serverKeys'>,
  { userId, challengeId, phone, channel, expiresAt }: FactorSms,
): PreparedFactorSms {
  const { codeLength, template } = config.mfa.phone
  const testCode = findTestCode(config.sms, phone, now())
  const code = testCode ?? makeCode(randomBytes, codeLength)
  const codeHash = hashFactorCode(serverKeys.hmac, { challengeId, phone, code })
  if (testCode !== undefined) return { codeHash, sms: undefined }
  const text = renderText(template, { Code: code })
  const sms = { to: phone, text, code, channel, messageId: randomUUID(), expiresAt: expiresAt.toISOString(), userId }
  return { codeHash, sms }
}

/** Whether a code is that of a challenge. */
export function matchesFactorSms(
  { serverKeys }: Pick<AuthDeps, 'serverKeys'>,
  answer: { readonly challengeId: string; readonly phone: string; readonly code: string },
  codeHash: Buffer | null,
): boolean {
  return codeHash !== null && serverKeys.hmacs.some((key) => codeMatches(codeHash, hashFactorCode(key, answer)))
}

/** The id of the challenge is random and used once: it is the salt. */
function hashFactorCode(
  key: Buffer,
  { challengeId, phone, code }: { readonly challengeId: string; readonly phone: string; readonly code: string },
): Buffer {
  return hashCode(key, Buffer.from(challengeId), phone, code)
}
