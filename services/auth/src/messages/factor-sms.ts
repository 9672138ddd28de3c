import { randomUUID } from 'node:crypto'
import type { AuthConfig } from '../config.ts'
import { generateCode, hashCode } from '../one-time-tokens/one-time-token.ts'
import { equalSecrets } from '../secrets/equal-secrets.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import type { ServerKeys } from '../secrets/server-key.ts'
import type { SmsChannel } from './gateway-protocol.ts'
import { renderText } from './mail-template.ts'
import type { SmsJob } from './sms-job.ts'
import { findTestCode } from './test-code.ts'

export interface FactorSmsDeps {
  readonly config: Pick<AuthConfig, 'mfa' | 'sms'>
  readonly now: () => Date
  readonly randomBytes: RandomBytes
  readonly serverKeys: ServerKeys
}

/** The SMS of a phone factor's challenge. */
export interface FactorSms {
  readonly userId: string
  readonly challengeId: string
  /** Normalised: its digits. */
  readonly phone: string
  readonly channel: SmsChannel
  readonly expiresAt: Date
}

/** The code of a challenge as it is stored, and its SMS; undefined for a test phone. */
export interface PreparedFactorSms {
  readonly codeHash: Buffer
  readonly sms: SmsJob | undefined
}

/** Makes the code of a challenge of a phone factor, and its SMS. */
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

/** Whether a code is the code of a challenge. */
export function matchesFactorSms(
  { serverKeys }: Pick<FactorSmsDeps, 'serverKeys'>,
  answer: { readonly challengeId: string; readonly phone: string; readonly code: string },
  codeHash: Buffer | null,
): boolean {
  return codeHash !== null && serverKeys.hmacs.some((key) => equalSecrets(codeHash, hashFactorCode(key, answer)))
}

/** The salt is the id of the challenge, which is random and used once. */
function hashFactorCode(
  key: Buffer,
  { challengeId, phone, code }: { readonly challengeId: string; readonly phone: string; readonly code: string },
): Buffer {
  return hashCode(key, Buffer.from(challengeId), phone, code)
}
