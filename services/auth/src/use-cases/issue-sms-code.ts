import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { renderText } from '../messages/mail-template.ts'
import { hashCode, makeCode, makeSalt, type TokenKind } from '../one-time-tokens/one-time-token.ts'
import { type MessageSecrets, replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import type { SmsJob } from '../messages/sms-job.ts'
import { findTestCode } from '../messages/test-code.ts'
import type { User } from '../users/user.ts'

/** An SMS with a code. */
export interface SmsCode {
  readonly user: Pick<User, 'id'>
  /** The phone that it goes to, normalised. */
  readonly phone: string
  readonly tokenKind: Extract<TokenKind, 'sms' | 'phone_change' | 'reauthentication'>
  readonly channel: SmsChannel
  /** A UUID of our own, for answers and the log. */
  readonly messageId: string
}

type Deps = Pick<AuthDeps, 'config' | 'now' | 'randomBytes' | 'serverKeys'>

/** The code of an SMS as it is to be stored, and the SMS; undefined for a phone of SMS_TEST_OTP, to which nothing is sent. */
export interface PreparedSmsCode {
  readonly secrets: MessageSecrets
  readonly sms: SmsJob | undefined
}

/** Makes the code of an SMS. */
export function prepareSmsCode(
  { config, now, randomBytes, serverKeys }: Deps,
  { user, phone, tokenKind, channel, messageId }: SmsCode,
): PreparedSmsCode {
  const sentAt = now()
  const expiresAt = new Date(sentAt.getTime() + config.sms.codeLifetimeSeconds * 1_000)
  const testCode = findTestCode(config.sms, phone, sentAt)
  const code = testCode ?? makeCode(randomBytes, config.sms.codeLength)
  const codeSalt = makeSalt(randomBytes)
  const codeHash = hashCode(serverKeys.hmac, codeSalt, phone, code)
  const text = renderText(config.sms.template, { Code: code })
  return {
    secrets: { kind: tokenKind, relatesTo: phone, linkHash: null, codeHash, codeSalt, sentAt, expiresAt },
    sms:
      testCode === undefined
        ? { to: phone, text, code, channel, messageId, expiresAt: expiresAt.toISOString(), userId: user.id }
        : undefined,
  }
}

/**
 * Stores the code of an SMS in place of the last one's of its kind, in the transaction of its cause.
 * @returns what `queueSms` or `holdSms` is to be given in the same transaction; undefined for a phone of SMS_TEST_OTP
 */
export async function issueSmsCode(
  trx: Transaction<AuthDatabase>,
  deps: Deps,
  message: SmsCode,
): Promise<SmsJob | undefined> {
  const { secrets, sms } = prepareSmsCode(deps, message)
  await replaceToken(trx, { ...secrets, userId: message.user.id, flowStateId: null })
  return sms
}
