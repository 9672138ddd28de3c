import { randomUUID } from 'node:crypto'
import type { MessageAllowanceDeps } from '../address-changes/request-address-change.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { addressTooNew, emailNotVerified, phoneNotVerified } from '../errors.ts'
import { type HookedDeps, runHooked } from '../messages/hooked-transaction.ts'
import { queueMail } from '../messages/mail-job.ts'
import { generateMailSecrets } from '../messages/mail-token.ts'
import { issueSmsCode, takeSms } from '../messages/sms-code.ts'
import { queueSms } from '../messages/sms-job.ts'
import { replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import { requireInterval } from '../rate-limits/send-interval.ts'
import { addressMissingAtReauthentication } from '../request-errors.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import { findCaller, lockCaller } from '../sessions/active-caller.ts'
import { findNonceAddress } from '../sessions/new-password.ts'
import type { TokenUser } from '../sessions/token-user.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'

type ReauthenticateDeps = HookedDeps & MessageAllowanceDeps & { readonly config: AuthConfig }

type SendCodeDeps = Pick<ReauthenticateDeps, 'config' | 'now' | 'randomBytes' | 'serverKeys' | 'jobs'>

/** How the nonce is sent, and this service's id of its message. */
export interface SentNonce {
  readonly medium: 'email' | 'sms'
  readonly messageId: string
}

/** Sends the nonce for a new password by email, or otherwise by SMS (reference: GET /reauthenticate). */
export async function reauthenticate(
  deps: ReauthenticateDeps,
  {
    caller,
    ip,
    limitKey,
  }: {
    readonly caller: TokenUser
    readonly ip: string
    /** The key of the client's rate limits. `undefined` if the client is not limited. */
    readonly limitKey: string | undefined
  },
): Promise<SentNonce> {
  const found = (await findCaller(deps, caller)).user
  const { kind, value: identifier } = await requireAddress(deps.db, deps, found)
  const allowance = await (kind === 'phone'
    ? takeSms(deps, identifier, limitKey)
    : deps.rateLimits.email.take(limitKey))
  const key = { scope: 'reauthentication', identifier: found.id, audience: found.audience } as const
  const interval = { ...key, kind: kind === 'phone' ? 'sms' : 'reauthentication' } as const
  const messageId = randomUUID()
  try {
    const medium = await runHooked(deps, async (trx, repeatable) => {
      // Lock the interval before the user, in the same order as sign-ups and requests for codes by SMS.
      await requireInterval(trx, repeatable, interval)
      const { user, session } = await lockCaller(trx, repeatable, caller)
      const address = await requireAddress(trx, repeatable, user)
      await updateUser(trx, user.id, { reauthentication_sent_at: repeatable.now() })
      const message = { user, address: address.value, messageId, sessionId: session?.id }
      await (address.kind === 'phone' ? sendBySms : sendByMail)(trx, repeatable, message)
      await recordAudit(trx, repeatable, { action: 'user_reauthenticate_requested', actor: user, ip })
      return address.kind === 'phone' ? 'sms' : 'email'
    })
    return { medium, messageId }
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

async function requireAddress(
  db: Db,
  deps: Pick<ReauthenticateDeps, 'config' | 'now'>,
  user: User,
): Promise<UserIdentifier> {
  if (user.email === null && user.phone === null) throw addressMissingAtReauthentication()
  const address = await findNonceAddress(db, deps, user)
  if (!address) throw addressTooNew()
  if (address.kind === 'email' && user.emailConfirmedAt === null) throw emailNotVerified()
  if (address.kind === 'phone' && user.phoneConfirmedAt === null) throw phoneNotVerified()
  return address
}

interface NonceMessage {
  readonly user: User
  readonly address: string
  readonly messageId: string
  /** `undefined` for a token without a session. */
  readonly sessionId: string | undefined
}

/** Mails a code without a link, because the user types the code into the page that requested it. */
async function sendByMail(
  trx: Trx,
  deps: SendCodeDeps,
  { user: { id, userMetadata }, address: email, messageId, sessionId }: NonceMessage,
): Promise<void> {
  const { secrets, code } = generateMailSecrets(deps, { email, tokenKind: 'reauthentication' }, 'implicit')
  await replaceToken(trx, { ...secrets, userId: id, linkHash: null, flowStateId: null, sessionId })
  const { siteUrl } = deps.config.signup.redirects
  await queueMail(trx, deps, {
    messageId,
    kind: 'REAUTHENTICATION',
    to: email,
    userId: id,
    expiresAt: secrets.expiresAt.toISOString(),
    variables: { Token: code, SiteURL: siteUrl, Email: email, Data: userMetadata },
  })
}

async function sendBySms(
  trx: Trx,
  deps: SendCodeDeps,
  { user, address: phone, messageId, sessionId }: NonceMessage,
): Promise<void> {
  const message = { user, phone, tokenKind: 'reauthentication', channel: 'sms', messageId, sessionId } as const
  const sms = await issueSmsCode(trx, deps, message)
  if (sms) await queueSms(trx, deps, sms)
}
