import { afterAll, describe, expect, it } from 'vitest'
import { COMPATIBILITY_OPTIONS, SETTING_DEFAULTS } from '../../src/config/compatibility.ts'
import { type MailApp, openBeside, openMailApp } from '../mail-app.ts'
import { accountCases } from './account-cases.ts'
import { environmentCases } from './environment-cases.ts'
import { hookCases } from './hook-cases.ts'
import { memberCases } from './member-cases.ts'
import { messageCases } from './message-cases.ts'
import { operatorCases } from './operator-cases.ts'
import type { OptionCase } from './option-case.ts'
import { providerCases } from './provider-cases.ts'
import { redirectCases } from './redirect-cases.ts'
import { sessionCases } from './session-cases.ts'
import { signUpCases } from './sign-up-cases.ts'

// The type check requires a case for each row. A case must give different results in the two profiles.
const cases: Readonly<Record<keyof typeof COMPATIBILITY_OPTIONS | keyof typeof SETTING_DEFAULTS, OptionCase>> = {
  ...signUpCases,
  ...sessionCases,
  ...accountCases,
  ...operatorCases,
  ...environmentCases,
  ...hookCases,
  ...redirectCases,
  ...messageCases,
  ...memberCases,
  ...providerCases,
}
const USUAL = { AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' }
/** The first case also starts its service. */
const TIMEOUT_MS = 60_000

it('has a case for each row, in which the profiles differ', () => {
  expect(Object.keys(cases).sort()).toEqual(
    [...Object.keys(COMPATIBILITY_OPTIONS), ...Object.keys(SETTING_DEFAULTS)].sort(),
  )
  for (const { compatible, supabase } of Object.values(cases)) expect(compatible).not.toEqual(supabase)
})

describe.each(['compatible', 'supabase'] as const)('AUTH_PROFILE=%s', (profile) => {
  const services = new Map<string, Promise<MailApp>>()
  const open = (settings: Readonly<Record<string, string>>): Promise<MailApp> => {
    const key = JSON.stringify(settings)
    const all = { ...USUAL, ...settings, AUTH_PROFILE: profile }
    const host = services.get('{}')
    const service = services.get(key) ?? (host ? host.then((one) => openBeside(one, all)) : openMailApp(all))
    services.set(key, service)
    return service
  }
  afterAll(async () => {
    const host = services.get('{}')
    services.delete('{}')
    for (const service of services.values()) await (await service).close()
    await (await host)?.close()
  })

  it.each(Object.entries(cases))(
    '%s: behaves as the table says',
    async (_name, { settings = {}, observe, ...expected }) => {
      await open({})
      expect(await observe(await open(settings), profile)).toEqual(expected[profile])
    },
    TIMEOUT_MS,
  )
})

describe('a setting with a default by profile', () => {
  it.each(Object.entries(SETTING_DEFAULTS))(
    '%s: an explicit value wins',
    async (name, { compatible }) => {
      const isName = (key: string): key is keyof typeof SETTING_DEFAULTS => key in SETTING_DEFAULTS
      if (!isName(name)) throw new Error(name)
      const { settings = {}, observe, compatible: expected } = cases[name]
      const service = await openMailApp({
        ...USUAL,
        ...settings,
        AUTH_PROFILE: 'supabase',
        [`AUTH_${name}`]: compatible,
      })
      try {
        expect(await observe(service, 'supabase')).toEqual(expected)
      } finally {
        await service.close()
      }
    },
    TIMEOUT_MS,
  )
})
