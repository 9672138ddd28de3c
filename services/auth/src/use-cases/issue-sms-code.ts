import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { renderText } from '../mail/mail-template.ts'
import { hashCode, makeCode, makeSalt, type TokenKind } from '../one-time-tokens/one-time-token.ts'
import { replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import type { SmsChannel } from '../sms/gateway-protocol.ts'
import type { SmsJob } from '../sms/sms-job.ts'
import { findTestCode } from '../sms/test-code.ts'
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

/**
 * Stores the code of an SMS in place of the last one's of its kind, in the transaction of its cause.
 * @returns what `queueSms` or `holdSms` is to be given in the same transaction; undefined for a phone of SMS_TEST_OTP, to
 * which nothing is sent
 */
export async function issueSmsCode(
  trx: Transaction<AuthDatabase>,
  { config, now, randomBytes, serverKeys }: Deps,
  { user, phone, tokenKind, channel, messageId }: SmsCode,
): Promise<SmsJob | undefined> {
  const sentAt = now()
  const expiresAt = new Date(sentAt.getTime() + config.sms.codeLifetimeSeconds * 1_000)
  const testCode = findTestCode(config.sms, phone, sentAt)
  const code = testCode ?? makeCode(randomBytes, config.sms.codeLength)
  const codeSalt = makeSalt(randomBytes)
  await replaceToken(trx, {
    userId: user.id,
    kind: tokenKind,
    relatesTo: phone,
    linkHash: null,
    codeHash: hashCode(serverKeys.hmac, codeSalt, phone, code),
    codeSalt,
    flowStateId: null,
    sentAt,
    expiresAt,
  })
  if (testCode !== undefined) return undefined
  const text = renderText(config.sms.template, { Code: code })
  return { to: phone, text, code, channel, messageId, expiresAt: expiresAt.toISOString() }
}
