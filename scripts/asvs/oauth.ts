import { AUDIENCE } from './access.ts'
import { chapter } from './requirement.ts'

const NO_SERVER = {
  notApplicable: 'the service is neither an OAuth server for others nor an OpenID provider: those paths answer 404',
}

const OUTSIDE = {
  payments: 'it accepts tokens as a resource server (V9), and takes part in no flow',
  inventory: 'it accepts tokens as a resource server (V9), and takes part in no flow',
}

/** Chapter V10: OAuth and OpenID Connect. */
export const oauth = chapter(
  'V10 OAuth and OIDC',
  [
    [
      '10.1.1',
      2,
      'Tokens are sent only to components that need them',
      {
        deviation: 'the implicit flow puts tokens into the fragment of a URL',
        strict: 'the browser gets only a code; the client stores the tokens that it exchanges the code for',
      },
    ],
    [
      '10.1.2',
      2,
      'A provider’s answer is accepted only from the browser that began',
      {
        deviation:
          '`state` is unguessable and works once, but is bound to no cookie: in the implicit flow, a link could sign a user in to another account',
        strict: 'PKCE binds every flow to the client that began it, and identities are linked by the exchange',
      },
    ],
    ['10.2.1', 2, 'Requests are not forged across sites: `state` is checked, and used once'],
    [
      '10.2.2',
      2,
      'Providers cannot be mixed up',
      {
        deviation:
          'an answer comes to the address of its provider, or names its issuer (RFC 9207), which is compared whenever it is sent; fixed providers, which the operator has chosen, share `/callback` until the settings give each its own address, and start, doctor and console warn while a custom provider shares it',
      },
    ],
    ['10.3.1', 2, 'Access tokens are accepted only for this service', AUDIENCE],
    [
      '10.3.2',
      2,
      'Rights are checked by the claims of the access token',
      { notApplicable: 'access tokens have no scopes; role, subject and `aal` decide' },
    ],
    ['10.3.3', 2, 'Users are known by a claim that is never given to others'],
    ['10.3.4', 2, 'The strength of the authentication is checked where it matters'],
    [
      '10.4.1',
      1,
      'Redirects are compared exactly with a list',
      {
        deviation: 'the host of `AUTH_SITE_URL` and globs are allowed',
        strict: 'only exact URLs',
      },
    ],
    [
      '10.4.2',
      1,
      'A code works once, and its second use revokes the tokens of the first',
      {
        deviation:
          'a code works once; a second use is refused as unknown and revokes nothing, because nobody can use a code without the verifier',
      },
    ],
    ['10.4.3', 1, 'Codes are valid for ten minutes at most'],
    [
      '10.4.4',
      1,
      'Clients use only the grants that they need, and neither implicit nor password',
      {
        deviation:
          'both exist; applications of the operator sign in with the password grant, and there are no third parties',
        strict: 'no implicit flow; the password grant stays',
        isPartial: true,
      },
    ],
    [
      '10.4.5',
      1,
      'A reused refresh token ends its session',
      {
        deviation:
          'for ten seconds, the token before the newest is still accepted, so that a lost answer signs nobody out',
        strict: 'at once, unless the setting allows a time',
      },
    ],
    [
      '10.4.6',
      2,
      'PKCE is required, with S256',
      {
        deviation: 'clients may leave PKCE out, or send a plain challenge (stored as its hash)',
        strict: 'required, by S256',
      },
    ],
    ['10.4.7', 2, 'Registration of unknown clients is safe', NO_SERVER],
    [
      '10.4.8',
      2,
      'Refresh tokens expire',
      { deviation: 'only if `AUTH_SESSIONS_TIMEBOX` is set', strict: 'with their session, after a day' },
    ],
    ['10.4.9', 2, 'Users can revoke refresh tokens'],
    ['10.4.10', 2, 'Confidential clients are authenticated', NO_SERVER],
    ['10.4.11', 2, 'Clients get the scopes they need', NO_SERVER],
    [
      '10.5.1',
      2,
      'An id_token cannot be replayed',
      {
        deviation:
          'the id_token grant checks the nonce of tokens that have one, except facebook’s, and unless `AUTH_EXTERNAL_<PROVIDER>_SKIP_NONCE_CHECK` is set; an id_token beside a code comes from the provider itself',
        strict: 'each id_token needs a nonce, and the check cannot be skipped',
      },
    ],
    ['10.5.2', 2, 'Users of a provider are known by `sub`'],
    ['10.5.3', 2, 'Metadata of another issuer is refused'],
    ['10.5.4', 2, 'An id_token is for one of our client ids'],
    ['10.5.5', 2, 'Back-channel logout cannot be abused', { notApplicable: 'there is no back-channel logout' }],
    ['10.6.1', 2, 'The OpenID provider answers with codes', NO_SERVER],
    ['10.6.2', 2, 'The OpenID provider does not let others sign a user out', NO_SERVER],
    ['10.7.1', 2, 'Users consent to each authorization', NO_SERVER],
    ['10.7.2', 2, 'Consent is informed', NO_SERVER],
    ['10.7.3', 2, 'Consent can be reviewed and withdrawn', NO_SERVER],
  ],
  OUTSIDE,
)
