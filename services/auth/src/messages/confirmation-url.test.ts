import { describe, expect, it } from 'vitest'
import { confirmationUrl } from './confirmation-url.ts'

const link = {
  base: 'https://auth.example.com',
  path: '/verify',
  token: 'ab',
  type: 'signup',
  redirectTo: 'https://h/p',
}

describe('confirmationUrl', () => {
  // ASVS 1.2.2
  it.each([
    [{}, 'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https://h/p'],
    [{ base: 'https://h/auth/v1/' }, 'https://h/auth/v1/verify?token=ab&type=signup&redirect_to=https://h/p'],
    [{ base: 'https://h/auth/v1', path: '/confirm' }, 'https://h/confirm?token=ab&type=signup&redirect_to=https://h/p'],
    [{ path: 'https://app.test/c?x=1' }, 'https://app.test/c?x=1&token=ab&type=signup&redirect_to=https://h/p'],
    [
      { redirectTo: 'https://h/p?a=1&b' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2Fp%3Fa%3D1%26b',
    ],
    [{ redirectTo: 'https://h/p?q' }, 'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https://h/p?q'],
    [
      { redirectTo: 'https://h/#/x' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2F%23%2Fx',
    ],
    [
      { redirectTo: 'https://h/"x"' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2F%22x%22',
    ],
  ])('builds the link of %j', (change, expected) => {
    expect(confirmationUrl({ ...link, ...change })).toBe(expected)
  })

  it.each(['https://h/a%2Fb', 'https://h/p?next=%26admin%3D1', 'https://h/a+b', 'https://h/100%25', 'https://h/ä'])(
    'has a redirect_to that a browser reads as %s again',
    (redirectTo) => {
      expect(new URL(confirmationUrl({ ...link, redirectTo })).searchParams.get('redirect_to')).toBe(redirectTo)
    },
  )
})
