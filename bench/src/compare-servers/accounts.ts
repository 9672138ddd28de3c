import type { JsonObject } from './step.ts'

/** An account at the stub provider. */
export interface Account {
  /** The answer of /userinfo, which is also the claims of an id_token. */
  readonly profile: JsonObject
  /** Claims that are in id_tokens alone, in place of the usual ones. */
  readonly tokenClaims?: JsonObject
}

const person = (sub: string, more: JsonObject = {}): Account => ({
  profile: { sub, email: `${sub}@provider.example`, email_verified: true, name: `Name of ${sub}`, ...more },
})

/** The accounts, by the code that the stub provider gives for them. */
const ACCOUNTS: Readonly<Record<string, Account>> = {
  carl: person('carl'),
  'carl-renamed': person('carl', { name: 'Another name', email: 'carl.new@provider.example' }),
  'carl-as-dora': person('carl', { email: 'dora@provider.example' }),
  dora: person('dora'),
  erik: person('erik', { preferred_username: 'erik', groups: ['/staff'] }),
  fred: person('fred'),
  gina: person('gina', { email_verified: false }),
  'gina-verified': person('gina'),
  hugo: { profile: { sub: 'hugo', name: 'Hugo' } },
  'like-ada': person('like-ada', { email: 'ada@example.com' }),
  'like-ada-unverified': person('like-ada-unverified', { email: 'ada@example.com', email_verified: false }),
  'like-bert': person('like-bert', { email: 'bert@example.com' }),
  'like-Bert': person('like-bert-2', { email: 'Bert@Example.com' }),
  'no-sub': { profile: { email: 'no-sub@provider.example', email_verified: true } },
  ida: { ...person('ida'), tokenClaims: { nonce: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' } },
  'ida-expired': { ...person('ida'), tokenClaims: { exp: 1_700_000_000 } },
  'ida-other-audience': { ...person('ida'), tokenClaims: { aud: 'other' } },
  'ida-other-issuer': { ...person('ida'), tokenClaims: { iss: 'https://issuer.example' } },
  'ida-no-email': { profile: { sub: 'ida-no-email', name: 'Ida' } },
  'ida-no-sub': { profile: { email: 'ida-no-sub@provider.example' }, tokenClaims: {} },
  jens: person('jens'),
  kurt: person('kurt'),
  lena: person('lena'),
  mona: person('mona'),
}

/**
 * An account as one subject sees it: each subject has accounts of its own. Undefined: there is none of this name.
 * @param tag tells subjects apart
 */
export function accountOf(name: string, tag: string): Account | undefined {
  const account = ACCOUNTS[name]
  if (account === undefined) return undefined
  const { sub, email } = account.profile
  const own = {
    ...(typeof sub === 'string' && { sub: `${sub}.${tag}` }),
    ...(typeof email === 'string' && { email: email.replace('@', `@${tag}.`) }),
  }
  return { ...account, profile: { ...account.profile, ...own } }
}
