import { describe, expect, it } from 'vitest'
import { oauth1Header } from './oauth1-client.ts'

/** The example of Twitter's document "Creating a signature" in two versions. Its body parameters are in the query here. */
const EXAMPLE = {
  method: 'POST',
  consumer: { key: 'xvz1evFS4wEEPTGEFPHBog', secret: 'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw' },
  token: {
    token: '370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb',
    secret: 'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE',
  },
  nonce: 'kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg',
  now: new Date(1_318_622_958_000),
} as const
const QUERY = 'include_entities=true&status=Hello%20Ladies%20%2b%20Gentlemen%2c%20a%20signed%20OAuth%20request%21'

describe('oauth1Header', () => {
  it.each([
    ['1.1', 'hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D'],
    ['1', 'tnnArxj06cWHq44gCs1OSKk%2FjLY%3D'],
  ])('gives the signature of the example of version %s', (version, signature) => {
    const url = `https://api.twitter.com/${version}/statuses/update.json?${QUERY}`
    expect(oauth1Header({ ...EXAMPLE, url })).toBe(
      `OAuth oauth_consumer_key="xvz1evFS4wEEPTGEFPHBog", oauth_nonce="${EXAMPLE.nonce}", ` +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="1318622958", ' +
        `oauth_token="${EXAMPLE.token.token}", oauth_version="1.0", oauth_signature="${signature}"`,
    )
  })

  it('escapes additional parameters, and signs without a token by the consumer secret alone', () => {
    const { token: _token, ...first } = EXAMPLE
    const callback = 'http://localhost:8081/callback?state=a b'
    const header = oauth1Header({ ...first, url: 'https://a.example/t', extra: { oauth_callback: callback } })
    expect(header).toContain('oauth_callback="http%3A%2F%2Flocalhost%3A8081%2Fcallback%3Fstate%3Da%20b"')
    expect(header).not.toContain('oauth_token')
  })
})
