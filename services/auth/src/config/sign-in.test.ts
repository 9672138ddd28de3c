import { loadConfig } from '@trestle/common/config/load-config.ts'
import { describe, expect, it } from 'vitest'
import { passwordSettings, sessionSettings, toPasswordConfig, toSessionConfig } from './sign-in.ts'

const settings = { ...sessionSettings, ...passwordSettings }
const load = (env: Record<string, string>) => ({
  ...loadConfig(settings, { prefix: 'AUTH_', env }),
  PROFILE: 'compatible' as const,
  SITE_URL: 'https://app.example.com',
  API_EXTERNAL_URL: 'https://auth.example.com',
})
const usual = { lengthMin: 6, requiredCharacters: [], forbiddenWords: [], common: new Set() }

describe('session settings', () => {
  it('have the documented defaults', () => {
    expect(toSessionConfig(load({}))).toEqual({
      revokeFamilyOnReuse: true,
      reuseIntervalMs: 10_000,
      timeboxMs: undefined,
      inactivityTimeoutMs: undefined,
      lowAalMs: undefined,
      freshForMs: undefined,
      singlePerUser: false,
      enforceOnAccessToken: false,
    })
  })

  it('permit a reuse interval of 0', () => {
    expect(toSessionConfig(load({ AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '0' })).reuseIntervalMs).toBe(0)
  })

  it('refuse ages that are not positive', () => {
    expect(() => load({ AUTH_SESSIONS_TIMEBOX: '0s' })).toThrow('AUTH_SESSIONS_TIMEBOX must be a positive duration')
  })
})

describe('password settings', () => {
  it.each([
    [{}, { policy: usual, breaches: undefined }],
    [{ AUTH_PASSWORD_MIN_LENGTH: '5' }, { policy: usual, breaches: undefined }],
    [
      { AUTH_PASSWORD_FORBIDDEN_WORDS: 'Acme' },
      { policy: { ...usual, forbiddenWords: ['acme'] }, breaches: undefined },
    ],
    [{ AUTH_PASSWORD_HIBP_ENABLED: 'true' }, { policy: usual, breaches: { userAgent: 'auth', failsClosed: false } }],
    [
      { AUTH_PASSWORD_MIN_LENGTH: '10', AUTH_PASSWORD_REQUIRED_CHARACTERS: 'abc:123' },
      { policy: { ...usual, lengthMin: 10, requiredCharacters: ['abc', '123'] }, breaches: undefined },
    ],
  ])('read from %j the policy and the search for breaches', (env: Record<string, string>, expected) => {
    expect(toPasswordConfig(load(env))).toEqual({ algorithm: 'argon2id', policyBindsAdmins: false, ...expected })
  })
})
