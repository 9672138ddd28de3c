import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { generateCode, generateSalt, hashCode, type TokenKind } from '../one-time-tokens/one-time-token.ts'
import { type MessageSecrets, replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import type { ServerKeys } from '../secrets/server-key.ts'
import type { User } from '../users/user.ts'
import type { SmsChannel } from './gateway-protocol.ts'
import { renderText } from './mail-template.ts'
import type { SmsJob } from './sms-job.ts'
import { findTestCode } from './test-code.ts'

/** An SMS with a code, before the code is made. */
export interface SmsCode {
  readonly user: Pick<User, 'id'>
  /** The phone of the SMS, normalised. */
  readonly phone: string
  readonly tokenKind: Extract<TokenKind, 'sms' | 'phone_change' | 'reauthentication'>
  readonly channel: SmsChannel
  /** Our own UUID of the message, for answers and the log. */
  readonly messageId: string
  /** The session that asked for a nonce. */
  readonly sessionId?: string | undefined
  /** Whether the SMS leaves the code of the last one alone. */
  readonly isResent?: boolean
}

/** The settings, clock, random source and keys that make the code of an SMS. */
export interface SmsCodeDeps {
  readonly config: Pick<AuthConfig, 'sms'>
  readonly now: () => Date
  readonly randomBytes: RandomBytes
  readonly serverKeys: ServerKeys
}

/** The code of an SMS as it is stored, and the SMS itself; undefined for a test phone, to which nothing is sent. */
export interface PreparedSmsCode {
  readonly secrets: MessageSecrets
  readonly sms: SmsJob | undefined
}

/** Makes an SMS and its code, without storing either. The SMS carries the code in the clear, the row only its hash. */
export function prepareSmsCode(
  { config, now, randomBytes, serverKeys }: SmsCodeDeps,
  { user, phone, tokenKind, channel, messageId }: SmsCode,
): PreparedSmsCode {
  const sentAt = now()
  const expiresAt = new Date(sentAt.getTime() + config.sms.codeLifetimeSeconds * 1_000)
  const testCode = findTestCode(config.sms, phone, sentAt)
  const code = testCode ?? generateCode(randomBytes, config.sms.codeLength)
  const codeSalt = generateSalt(randomBytes)
  const codeHash = hashCode(serverKeys.hmac, codeSalt, phone, code)
  const text = renderText(config.sms.template, { Code: code })
  return {
    secrets: { kind: tokenKind, identifier: phone, linkHash: null, codeHash, codeSalt, sentAt, expiresAt },
    sms:
      testCode === undefined
        ? {
            to: phone,
            text,
            code,
            channel,
            messageId,
            userId: user.id,
            expiresAt: expiresAt.toISOString(),
            purpose: tokenKind === 'sms' ? 'one_time_code' : tokenKind,
          }
        : undefined,
  }
}

/**
 * Stores the code of an SMS in place of the last code of its kind, in the transaction of its cause.
 * @returns the job for `queueSms` or `holdSms`, in the same transaction; undefined for a test phone
 */
export async function issueSmsCode(trx: Trx, deps: SmsCodeDeps, message: SmsCode): Promise<SmsJob | undefined> {
  const { secrets, sms } = prepareSmsCode(deps, message)
  const { user, sessionId, isResent } = message
  await replaceToken(trx, { ...secrets, userId: user.id, flowStateId: null, sessionId, isResent })
  return sms
}
