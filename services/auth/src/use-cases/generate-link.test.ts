import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT, SERVICE } from '../../test/sample-context.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { emailExists, emailUnknown, linkExpired, secureChangeOff } from '../errors.ts'
import { passwordMissingAtSignUp } from '../request-errors.ts'
import { redeemLink } from '../sign-ups/redeem-message.ts'
import { type GenerateLinkInput, generateLink } from './generate-link.ts'

const { deps, close } = await openTestApp()
afterAll(close)

let count = 0
const nextEmail = () => `new${++count}@example.com`
const generate = (input: Pick<GenerateLinkInput, 'type' | 'email'> & Partial<GenerateLinkInput>, on = deps) =>
  generateLink(on, { newEmail: '', password: undefined, data: {}, admin: SERVICE, context: CONTEXT, ...input })

describe('generateLink', () => {
  it('makes a magic link for an unknown address a sign-up', async () => {
    const link = await generate({ type: 'magiclink', email: nextEmail() })
    expect([link.verificationType, link.linkType]).toEqual(['signup', 'signup'])
    expect(link.url).toBe(
      `http://localhost:8081/verify?token=${link.token}&type=signup&redirect_to=http://localhost:3000`,
    )
  })

  it('keeps a magic link for a known address a magic link', async () => {
    const { email, user } = await createSignedUp(deps)
    const link = await generate({ type: 'magiclink', email })
    expect([link.verificationType, link.linkType, link.user.id]).toEqual(['magiclink', 'magiclink', user.id])
  })

  it('refuses a sign-up without a password, and one of a confirmed address', async () => {
    await expect(generate({ type: 'signup', email: nextEmail() })).rejects.toThrow(passwordMissingAtSignUp())
    const { email } = await createSignedUp(deps)
    await expect(generate({ type: 'signup', email, password: 'a good password' })).rejects.toThrow(emailExists())
  })

  it('refuses an unknown address where the link would make no user', async () => {
    for (const type of ['recovery', 'email_change_new', 'email_change_current'] as const) {
      await expect(generate({ type, email: nextEmail(), newEmail: nextEmail() })).rejects.toThrow(emailUnknown())
    }
  })

  it('calls an address of another audience taken where the link may make a user, and unknown elsewhere', async () => {
    const { email } = await createSignedUp(deps, { aud: 'mobile' })
    await expect(generate({ type: 'magiclink', email })).rejects.toThrow(emailExists())
    await expect(generate({ type: 'recovery', email })).rejects.toThrow(emailUnknown())
  })

  it('refuses a change of email to an address that somebody has', async () => {
    const [{ email }, other] = [await createSignedUp(deps), await createSignedUp(deps)]
    for (const newEmail of [email, other.email]) {
      await expect(generate({ type: 'email_change_new', email, newEmail })).rejects.toThrow(emailExists())
    }
  })

  it('makes a link for the current address only where changes of email need both addresses', async () => {
    const { email } = await createSignedUp(deps)
    const mail = { ...deps.config.mail, secureEmailChange: false }
    const simple = { ...deps, config: { ...deps.config, mail } }
    const wanted = { type: 'email_change_current', email, newEmail: nextEmail() } as const
    await expect(generate(wanted, simple)).rejects.toThrow(secureChangeOff())
    expect((await generate(wanted)).linkType).toBe('email_change')
  })

  it('voids the earlier link of the same kind', async () => {
    const { email } = await createSignedUp(deps)
    const [first, second] = [await generate({ type: 'recovery', email }), await generate({ type: 'recovery', email })]
    const follow = (token: string) =>
      redeemLink(deps, { type: 'recovery', token, via: { kind: 'body', password: undefined }, context: CONTEXT })
    await expect(follow(first.token)).rejects.toThrow(linkExpired())
    expect((await follow(second.token)).verdict).toBe('session')
  })
})
