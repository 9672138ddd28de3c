import { randomUUID } from 'node:crypto'
import type { SmsConfig } from '../config/sms.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { smsProviderMissing } from '../errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { generateCode, generateSalt, hashCode, type TokenKind } from '../one-time-tokens/one-time-token.ts'
import { type MessageSecrets, replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import { type Allowance, NOTHING_TAKEN, type RateLimits } from '../rate-limits/rate-limits.ts'
import { equalSecrets, type RandomBytes, type ServerKeys } from '../secrets/encrypted-secret.ts'
import type { User } from '../users/user.ts'
import { renderText } from './mail-template.ts'
import type { SmsChannel, SmsGateway } from './sms-gateway.ts'
import type { SmsJob } from './sms-job.ts'

/** An SMS with a code, before the code is created. */
export interface SmsCode {
  readonly user: Pick<User, 'id'>
  /** The normalised recipient. */
  readonly phone: string
  readonly tokenKind: Extract<TokenKind, 'sms' | 'phone_change' | 'reauthentication'>
  readonly channel: SmsChannel
  /** The service's UUID of the message, for responses and the log. */
  readonly messageId: string
  /** The session that requested a nonce. */
  readonly sessionId?: string | undefined
  /** Whether the code of the previous SMS stays valid. */
  readonly isResent?: boolean
}

export interface SmsCodeDeps {
  readonly config: Pick<AuthConfig, 'sms'>
  readonly now: () => Date
  readonly randomBytes: RandomBytes
  readonly serverKeys: ServerKeys
}

/** An SMS, and its code as stored. `sms` is `undefined` for a test phone, which gets no SMS. */
interface PreparedSmsCode {
  readonly secrets: MessageSecrets
  readonly sms: SmsJob | undefined
}

/** Creates an SMS and its code without storing them. Only the SMS contains the code, the row has its hash. */
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
 * Stores the code of an SMS instead of the previous code of its kind, in the transaction of its cause.
 * @returns the job for `queueSms` or `holdSms` in the same transaction, or `undefined` for a test phone
 */
export async function issueSmsCode(trx: Trx, deps: SmsCodeDeps, message: SmsCode): Promise<SmsJob | undefined> {
  const { secrets, sms } = prepareSmsCode(deps, message)
  const { user, sessionId, isResent } = message
  await replaceToken(trx, { ...secrets, userId: user.id, flowStateId: null, sessionId, isResent })
  return sms
}

/** The test code of a phone (SMS_TEST_OTP). `undefined` if it has none, or if test codes have expired. */
export function findTestCode(
  { testCodes, testCodesValidUntil }: Pick<SmsConfig, 'testCodes' | 'testCodesValidUntil'>,
  phone: string,
  now: Date,
): string | undefined {
  const isOver = testCodesValidUntil !== undefined && testCodesValidUntil <= now
  return isOver ? undefined : testCodes.get(phone)
}

interface CountDeps {
  readonly config: Pick<AuthConfig, 'sms'>
  readonly now: () => Date
  readonly rateLimits: Pick<RateLimits, 'sms'>
}

/** The dependencies of a counted SMS. The hook SEND_SMS can replace a gateway. */
export interface SmsAllowanceDeps extends CountDeps {
  readonly hooks: Hooks
  /** `undefined` if no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/**
 * Counts an SMS before any other step (reference: Message limits). A test phone needs neither gateway nor allowance.
 * @param limitKey the key of the client's limits
 */
export async function takeSms(deps: SmsAllowanceDeps, phone: string, limitKey: string | undefined): Promise<Allowance> {
  if (isTestPhone(deps, phone)) return NOTHING_TAKEN
  if (!deps.sms && !deps.hooks.isOn('SEND_SMS')) throw smsProviderMissing()
  return deps.rateLimits.sms.take(limitKey)
}

/** Counts an SMS that may have no recipient. */
export async function countSms(deps: CountDeps, phone: string, limitKey: string | undefined): Promise<Allowance> {
  return isTestPhone(deps, phone) ? NOTHING_TAKEN : deps.rateLimits.sms.take(limitKey)
}

function isTestPhone({ config, now }: CountDeps, phone: string): boolean {
  return findTestCode(config.sms, phone, now()) !== undefined
}

interface FactorSmsDeps {
  readonly config: Pick<AuthConfig, 'mfa' | 'sms'>
  readonly now: () => Date
  readonly randomBytes: RandomBytes
  readonly serverKeys: ServerKeys
}

interface FactorSms {
  readonly userId: string
  readonly challengeId: string
  /** The digits of the normalised phone. */
  readonly phone: string
  readonly channel: SmsChannel
  readonly expiresAt: Date
}

/** The code of a challenge as stored, and its SMS. `sms` is `undefined` for a test phone. */
interface PreparedFactorSms {
  readonly codeHash: Buffer
  readonly sms: SmsJob | undefined
}

export function prepareFactorSms(
  { config, now, randomBytes, serverKeys }: FactorSmsDeps,
  { userId, challengeId, phone, channel, expiresAt }: FactorSms,
): PreparedFactorSms {
  const { codeLength, template } = config.mfa.phone
  const testCode = findTestCode(config.sms, phone, now())
  const code = testCode ?? generateCode(randomBytes, codeLength)
  const codeHash = hashFactorCode(serverKeys.hmac, { challengeId, phone, code })
  if (testCode !== undefined) return { codeHash, sms: undefined }
  const text = renderText(template, { Code: code })
  const message = { messageId: randomUUID(), expiresAt: expiresAt.toISOString(), userId }
  return { codeHash, sms: { to: phone, text, code, channel, ...message, purpose: 'second_factor' } }
}

export function matchesFactorSms(
  { serverKeys }: Pick<FactorSmsDeps, 'serverKeys'>,
  answer: { readonly challengeId: string; readonly phone: string; readonly code: string },
  codeHash: Buffer | null,
): boolean {
  return codeHash !== null && serverKeys.hmacs.some((key) => equalSecrets(codeHash, hashFactorCode(key, answer)))
}

/** The id of the challenge is the salt, because it is random and used once. */
function hashFactorCode(
  key: Buffer,
  { challengeId, phone, code }: { readonly challengeId: string; readonly phone: string; readonly code: string },
): Buffer {
  return hashCode(key, Buffer.from(challengeId), phone, code)
}
