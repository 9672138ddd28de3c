import { AUDIENCE } from './access.ts'
import { chapter } from './requirement.ts'

const NO_SERVER = {
  notApplicable: 'the service is no OAuth server for others, nor an OpenID provider: those paths answer 404',
}

const OUTSIDE = {
  payments: 'it takes tokens as a resource server, which V9 is about, and takes part in no flow',
  inventory: 'it takes tokens as a resource server, which V9 is about, and takes part in no flow',
}

/** Chapter V10: OAuth and OpenID Connect. */
export const oauth = chapter(
  'V10 OAuth and OIDC',
  [
    [
      '10.1.1',
      2,
      'Tokens go only where they are needed',
      {
        deviation: 'the implicit flow puts them into the fragment of an address',
        strict: 'a browser comes back with a code at most; what it is exchanged for is the client’s to keep',
      },
    ],
    [
      '10.1.2',
      2,
      'What a provider answers is taken only in the browser that asked',
      {
        deviation:
          '`state` is unguessable and good once, but bound to no cookie: in the implicit flow a link could sign somebody in as another',
        strict: 'PKCE binds every flow to the client that began it, and what a user links is linked by the exchange',
      },
    ],
    ['10.2.1', 2, 'Requests are not forged across sites: `state` is checked, and used once'],
    [
      '10.2.2',
      2,
      'Providers cannot be mixed up',
      {
        deviation:
          '`state` names the provider, whose own token endpoint is asked; the parameter `iss` (RFC 9207) is not compared, since few of the 18 send it',
      },
    ],
    ['10.3.1', 2, 'Access tokens are for this service', AUDIENCE],
    [
      '10.3.2',
      2,
      'Decisions rest on the claims of delegated rights',
      { notApplicable: 'access tokens carry no scopes; role, subject and `aal` decide' },
    ],
    ['10.3.3', 2, 'Users are known by a claim that is never given to others'],
    ['10.3.4', 2, 'The strength of the authentication is asked where it matters'],
    [
      '10.4.1',
      1,
      'Redirects by exact comparison with a list',
      {
        deviation: 'the host of `AUTH_SITE_URL` and globs are permitted',
        strict: 'whole addresses alone',
      },
    ],
    [
      '10.4.2',
      1,
      'A code works once, and its second use ends what the first gave',
      {
        deviation:
          'it works once; a second use is refused as unknown, and ends nothing: without the verifier nobody could have used the first',
      },
    ],
    ['10.4.3', 1, 'Codes live ten minutes at most'],
    [
      '10.4.4',
      1,
      'Clients use the grants they need; neither implicit nor password',
      {
        deviation:
          'both are served; the password grant is how the own application signs in, there are no third parties',
        strict: 'no implicit flow; the password grant stays',
        isPartial: true,
      },
    ],
    [
      '10.4.5',
      1,
      'A refresh token that comes again ends all that came from it',
      {
        deviation: 'its parent still answers for ten seconds, so that a lost answer signs nobody out',
        strict: 'not for a moment, unless it is set',
      },
    ],
    [
      '10.4.6',
      2,
      'PKCE, by S256',
      {
        deviation: 'clients may leave it out, or send a plain challenge (kept as its hash)',
        strict: 'required, by S256',
      },
    ],
    ['10.4.7', 2, 'Registration of unknown clients is safe', NO_SERVER],
    [
      '10.4.8',
      2,
      'Refresh tokens end at some time',
      { deviation: 'not unless it is set (`AUTH_SESSIONS_TIMEBOX`)', strict: 'with their session, after a day' },
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
          'in the id_token grant by its nonce, where it has one, but facebook’s, and unless `AUTH_EXTERNAL_<PROVIDER>_SKIP_NONCE_CHECK` is set; one that comes with a code comes from the provider itself',
        strict: 'each needs a nonce, and the check cannot be skipped',
      },
    ],
    ['10.5.2', 2, 'Users of a provider are known by `sub`'],
    ['10.5.3', 2, 'Metadata of another issuer is refused'],
    ['10.5.4', 2, 'An id_token is for one of our client ids'],
    ['10.5.5', 2, 'Back-channel logout cannot be abused', { notApplicable: 'there is no back-channel logout' }],
    ['10.6.1', 2, 'The OpenID provider answers with codes', NO_SERVER],
    ['10.6.2', 2, 'The OpenID provider lets nobody be logged out by force', NO_SERVER],
    ['10.7.1', 2, 'Users consent to each authorization', NO_SERVER],
    ['10.7.2', 2, 'Consent is informed', NO_SERVER],
    ['10.7.3', 2, 'Consent can be reviewed and taken back', NO_SERVER],
  ],
  OUTSIDE,
)
