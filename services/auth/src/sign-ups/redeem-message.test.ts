import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT } from '../../test/sample-context.ts'
import { createSignedUp, type SignedUp } from '../../test/signed-up.ts'
import { linkExpired, userBanned, WEAKNESS_SENTENCES, weakPassword } from '../errors.ts'
import { insertMailFlow } from '../flows/flow-repository.ts'
import { hashLinkToken, type TokenKind } from '../one-time-tokens/one-time-token.ts'
import { type NewOneTimeToken, replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import type { VerifyType } from '../one-time-tokens/verify-request.ts'
import { passwordMissingAtVerify } from '../request-errors.ts'
import { type RedeemedLink, redeemLink } from './redeem-message.ts'

const { deps, clock, close } = await openTestApp()
afterAll(close)

const HOUR_MS = 3_600_000
const UNCONFIRMED = { email_confirmed_at: null }
const INVITED = { ...UNCONFIRMED, invited_at: new Date() }

/** Stores a message to a user. @returns the token of its link */
async function send(
  { user, email }: SignedUp,
  kind: TokenKind,
  changes: Partial<NewOneTimeToken> = {},
): Promise<string> {
  const token = randomBytes(28).toString('hex')
  await deps.db.transaction().execute((trx) =>
    replaceToken(trx, {
      kind,
      identifier: email,
      linkHash: hashLinkToken(token),
      codeHash: randomBytes(32),
      codeSalt: randomBytes(16),
      sentAt: clock.now(),
      expiresAt: new Date(clock.now().getTime() + HOUR_MS),
      userId: user.id,
      flowStateId: null,
      ...changes,
    }),
  )
  return token
}

const sendPkce = async (signedUp: SignedUp) => {
  const pkce = { codeChallenge: 'c'.repeat(43), codeChallengeMethod: 's256' } as const
  const flowStateId = await deps.db
    .transaction()
    .execute((trx) => insertMailFlow(trx, signedUp.user.id, 'magiclink', pkce))
  return send(signedUp, 'recovery', { flowStateId })
}

const follow = (token: string, type: VerifyType, via: RedeemedLink['via'] = { kind: 'redirect' }) =>
  redeemLink(deps, { type, token, via, context: CONTEXT })

/** Returns the outcome of a message, and whether its session belongs to the user and has the right method. */
async function endOf(signedUp: SignedUp, redeemed: ReturnType<typeof follow>) {
  const end = await redeemed
  if (end.verdict !== 'session') return end.verdict
  const { user, aal, amr } = end.session
  return { type: end.type, isOwn: user.id === signedUp.user.id, aal, methods: amr.map(({ method }) => method) }
}

const session = (type: string, method = 'otp') => ({ type, isOwn: true, aal: 'aal1', methods: [method] })

const countTokens = async ({ user }: SignedUp) =>
  (await deps.db.selectFrom('one_time_tokens').select('id').where('user_id', '=', user.id).execute()).length

describe('redeemLink', () => {
  it.each<[type: VerifyType, kind: TokenKind, user: object, end: unknown]>([
    ['signup', 'confirmation', UNCONFIRMED, session('signup')],
    ['signup', 'recovery', { ...UNCONFIRMED, staged_at: new Date() }, session('signup')],
    ['email', 'confirmation', UNCONFIRMED, session('signup')],
    ['email', 'recovery', {}, session('magiclink')],
    ['magiclink', 'recovery', {}, session('magiclink')],
    ['recovery', 'recovery', {}, session('recovery')],
    ['recovery', 'recovery', UNCONFIRMED, session('recovery')],
    ['invite', 'confirmation', INVITED, session('invite')],
  ])('signs in and confirms the address: type %s, message %s, user %o', async (type, kind, changes, end) => {
    const signedUp = await createSignedUp(deps, changes)
    const token = await send(signedUp, kind)
    expect(await endOf(signedUp, follow(token, type))).toEqual(end)
    const row = await deps.db
      .selectFrom('users')
      .select(['staged_at', 'email_confirmed_at'])
      .where('id', '=', signedUp.user.id)
      .executeTakeFirst()
    expect(row).toEqual({ staged_at: null, email_confirmed_at: expect.any(String) })
    await expect(follow(token, type)).rejects.toThrow(linkExpired())
  })

  it.each<[type: VerifyType, kind: TokenKind, user: object]>([
    ['recovery', 'confirmation', UNCONFIRMED],
    ['magiclink', 'confirmation', UNCONFIRMED],
    ['signup', 'recovery', {}],
    ['invite', 'confirmation', UNCONFIRMED],
    ['invite', 'recovery', INVITED],
    ['email_change', 'confirmation', UNCONFIRMED],
    ['sms', 'sms', {}],
    ['email', 'reauthentication', {}],
    ['email', 'recovery', { deleted_at: new Date() }],
  ])('refuses a message of another type and keeps it: type %s, message %s, user %o', async (type, kind, changes) => {
    const signedUp = await createSignedUp(deps, changes)
    const token = await send(signedUp, kind)
    await expect(follow(token, type)).rejects.toThrow(linkExpired())
    expect(await countTokens(signedUp)).toBe(1)
  })

  it.each<[why: string, ms: number, error: Error | undefined]>([
    ['a millisecond before it expires', HOUR_MS - 1, undefined],
    ['when it expires', HOUR_MS, linkExpired()],
  ])('takes a link until it expires: %s', async (_why, ms, error) => {
    const signedUp = await createSignedUp(deps)
    const sentAt = clock.now().getTime() - ms
    const token = await send(signedUp, 'recovery', { expiresAt: new Date(sentAt + HOUR_MS) })
    const followed = endOf(signedUp, follow(token, 'magiclink'))
    if (error) await expect(followed).rejects.toThrow(error)
    else expect(await followed).toEqual(session('magiclink'))
  })

  it('refuses a link that went to an address which the user no longer has', async () => {
    const signedUp = await createSignedUp(deps)
    const token = await send(signedUp, 'recovery', { identifier: 'former@example.com' })
    await expect(follow(token, 'magiclink')).rejects.toThrow(linkExpired())
    expect(await countTokens(signedUp)).toBe(1)
  })

  it('names a ban, and keeps the link for the time after it', async () => {
    const signedUp = await createSignedUp(deps, { banned_until: new Date(clock.now().getTime() + 1) })
    const token = await send(signedUp, 'recovery')
    await expect(follow(token, 'magiclink')).rejects.toThrow(userBanned())
    clock.advance(1)
    expect(await endOf(signedUp, follow(token, 'magiclink'))).toEqual(session('magiclink'))
  })

  it('gives one of two simultaneous requests the session', async () => {
    const signedUp = await createSignedUp(deps)
    const token = await send(signedUp, 'recovery')
    const ends = await Promise.allSettled([follow(token, 'magiclink'), follow(token, 'magiclink')])
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    expect(failures).toEqual([linkExpired()])
  })

  it('ends every other message of the user', async () => {
    const signedUp = await createSignedUp(deps, UNCONFIRMED)
    await send(signedUp, 'confirmation')
    await follow(await send(signedUp, 'recovery'), 'magiclink')
    expect(await countTokens(signedUp)).toBe(0)
  })

  it.each<[via: RedeemedLink['via'], end: unknown]>([
    [{ kind: 'redirect' }, 'auth-code'],
    [{ kind: 'body', password: undefined }, session('magiclink')],
  ])('ends a PKCE flow with a code only in a redirect: %o', async (via, end) => {
    const signedUp = await createSignedUp(deps)
    expect(await endOf(signedUp, follow(await sendPkce(signedUp), 'magiclink', via))).toEqual(end)
  })

  it.each<[password: string | undefined, error: Error]>([
    [undefined, passwordMissingAtVerify()],
    ['', passwordMissingAtVerify()],
    ['short', weakPassword({ sentences: WEAKNESS_SENTENCES.length(6) })],
  ])(
    'wants a good password from a user who could not sign in again, and keeps the link: %o',
    async (password, error) => {
      const signedUp = await createSignedUp(deps, { ...UNCONFIRMED, encrypted_password: null })
      const token = await send(signedUp, 'confirmation')
      await expect(follow(token, 'signup', { kind: 'body', password })).rejects.toThrow(error.message)
      expect(await countTokens(signedUp)).toBe(1)
      const via = { kind: 'body', password: 'a good long password' } as const
      expect(await endOf(signedUp, follow(token, 'signup', via))).toEqual(session('signup'))
    },
  )
})
