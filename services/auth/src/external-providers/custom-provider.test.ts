import { describe, expect, it } from 'vitest'
import { CustomProviderSettings, toCustomProfile } from './custom-provider.ts'

const settingsOf = (custom_claims_allowlist: readonly string[]) =>
  CustomProviderSettings.parse({
    provider_type: 'oauth2',
    name: 'Custom',
    client_id: 'client',
    authorization_url: 'https://idp.example.com/authorize',
    token_url: 'https://idp.example.com/token',
    userinfo_url: 'https://idp.example.com/userinfo',
    custom_claims_allowlist,
  })

describe('the custom claims of a custom provider', () => {
  it.each([
    [['team', 'group'], { team: 'a' }, { team: 'a' }],
    [['team'], {}, undefined],
    [[], { team: 'a' }, undefined],
  ])('allowed %j, and sent %j, are %j', (allowed, claims, expected) => {
    expect(toCustomProfile(settingsOf(allowed), [{ sub: 'ada', ...claims }]).customClaims).toStrictEqual(expected)
  })
})
