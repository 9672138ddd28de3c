import { readFileSync } from 'node:fs'
import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, duration, flag, integer, oneOf, text } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import type { z } from 'zod'
import type { RedirectPolicy } from '../flows/redirect-allow-list.ts'
import type { BreachRules } from '../passwords/hash-new-password.ts'
import { type PasswordPolicy, parseRequiredCharacters } from '../passwords/password-policy.ts'
import { PASSWORD_ALGORITHMS, type PasswordAlgorithm } from '../passwords/stored-hash.ts'
import type { CompatibilityOptions } from './compatibility.ts'
import type { serverSettings } from './process.ts'
import type { ProfileValues } from './rules.ts'

export const sessionSettings = group('Sessions', {
  SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: flag()
    .prefault('true')
    .describe('A used refresh token that comes again ends its session. While this is false, the call only fails.'),
  SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: duration()
    .prefault('10s')
    .describe(
      'How long the token before the newest refresh token may be used again, and is answered with the newest one: the first answer may have been lost. Only with rotation.',
    ),
  SESSIONS_TIMEBOX: positiveDuration().optional().describe('Longest life of a session.'),
  SESSIONS_INACTIVITY_TIMEOUT: positiveDuration().optional().describe('Longest pause between two refreshes.'),
  SESSIONS_ALLOW_LOW_AAL: positiveDuration()
    .optional()
    .describe('Longest life of a session without the second factor that its user has.'),
  SESSIONS_FRESH_FOR: positiveDuration()
    .optional()
    .describe(
      'How long after a sign-in or a second factor users may change what sign-ins rest on (password, addresses, factors, passkeys, identities), and admins in a session may change anything. A credential that is younger than that proves nothing. Default: as long as their session lives.',
    ),
  SESSIONS_SINGLE_PER_USER: flag().prefault('false').describe('Only the newest session of a user may refresh.'),
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: flag()
    .prefault('false')
    .describe(
      'Every call with an access token asks whether the session still exists. While this is false, only calls that change something ask.',
    ),
})

export const passwordSettings = group('Passwords', {
  PASSWORD_MIN_LENGTH: integer(0, 72)
    .prefault('6')
    .describe('Characters of the shortest password. Less than 6 counts as 6.'),
  PASSWORD_HASH: oneOf(...PASSWORD_ALGORITHMS)
    .prefault('argon2id')
    .describe(
      'Algorithm of new hashes. `bcrypt` has the cost 10, and is what functions compare by `crypt()` in SQL. It is easier to guess than argon2id when a database is stolen.',
    ),
  PASSWORD_REQUIRED_CHARACTERS: text()
    .default('')
    .describe(
      'Sets of characters, separated by colons (`\\:` is a colon). A password needs one character of each set.',
    ),
  PASSWORD_FORBIDDEN_WORDS: commaList()
    .default([])
    .describe('Words that are easy to guess here. A password must be long enough without them.'),
  PASSWORD_HIBP_ENABLED: flag()
    .prefault('false')
    .describe('Look new passwords up at Have I Been Pwned, by the first five digits of their hash.'),
  PASSWORD_HIBP_FAIL_CLOSED: flag()
    .prefault('false')
    .describe('Let nobody set a password while Have I Been Pwned does not answer.'),
  PASSWORD_HIBP_USER_AGENT: text().prefault('auth').describe('The name that the service gives to Have I Been Pwned.'),
  SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: flag()
    .prefault('false')
    .describe(
      'A change of password needs a code sent by mail or SMS, except within a day of a sign-in. A sign-in by a credential, and a code to an address, that was added within that day do not count.',
    ),
  SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: flag()
    .prefault('false')
    .describe(
      'A change of password needs the current one (`current_password`), except in a session that began by a code or a link to an address that the user had a day before.',
    ),
})

const PASSWORD_LENGTH_MIN = 6

/** The settings of sessions and refresh tokens. `undefined` means no limit. */
export interface SessionConfig {
  /** Whether the reuse of a refresh token revokes all tokens of its family. */
  readonly revokeFamilyOnReuse: boolean
  readonly reuseIntervalMs: number
  readonly timeboxMs: number | undefined
  readonly inactivityTimeoutMs: number | undefined
  /** The lifetime of an aal1 session of a user who has a verified second factor. */
  readonly lowAalMs: number | undefined
  /** The time after the last authentication in which a session may change credentials. If `undefined`, always. */
  readonly freshForMs: number | undefined
  readonly singlePerUser: boolean
  /** Whether every endpoint with an access token needs a live session (reference: Live sessions). */
  readonly enforceOnAccessToken: boolean
}

export function toSessionConfig(values: SettingValues<typeof sessionSettings>): SessionConfig {
  return {
    revokeFamilyOnReuse: values.SECURITY_REFRESH_TOKEN_ROTATION_ENABLED,
    reuseIntervalMs: values.SECURITY_REFRESH_TOKEN_REUSE_INTERVAL,
    timeboxMs: values.SESSIONS_TIMEBOX,
    inactivityTimeoutMs: values.SESSIONS_INACTIVITY_TIMEOUT,
    lowAalMs: values.SESSIONS_ALLOW_LOW_AAL,
    freshForMs: values.SESSIONS_FRESH_FOR,
    singlePerUser: values.SESSIONS_SINGLE_PER_USER,
    enforceOnAccessToken: values.SESSIONS_ENFORCE_ON_ACCESS_TOKEN,
  }
}

/** The rules for new passwords. Stored passwords need not meet them. */
export interface PasswordConfig {
  readonly algorithm: PasswordAlgorithm
  readonly policy: PasswordPolicy
  /** Whether passwords that admins set for new users must meet the policy too. */
  readonly policyBindsAdmins: boolean
  /** How passwords are searched in the list of breached passwords. `undefined` if they are not. */
  readonly breaches: BreachRules | undefined
}

type PasswordValues = SettingValues<typeof passwordSettings> &
  ProfileValues &
  Readonly<Record<'SITE_URL' | 'API_EXTERNAL_URL', string>>

/** Returns the settings of passwords. The strict profile also forbids common passwords and words of the service's hosts. */
export function toPasswordConfig(values: PasswordValues): PasswordConfig {
  const isStrict = values.PROFILE === 'strict'
  const hosts = isStrict ? [values.SITE_URL, values.API_EXTERNAL_URL].map((url) => new URL(url).hostname) : []
  return {
    algorithm: values.PASSWORD_HASH,
    policy: {
      lengthMin: Math.max(values.PASSWORD_MIN_LENGTH, PASSWORD_LENGTH_MIN),
      requiredCharacters: parseRequiredCharacters(values.PASSWORD_REQUIRED_CHARACTERS),
      forbiddenWords: [...values.PASSWORD_FORBIDDEN_WORDS, ...hosts.flatMap(hostWords)].map((word) =>
        word.toLowerCase(),
      ),
      common: isStrict ? loadCommonPasswords() : NONE,
    },
    policyBindsAdmins: isStrict,
    breaches: values.PASSWORD_HIBP_ENABLED
      ? { userAgent: values.PASSWORD_HIBP_USER_AGENT, failsClosed: values.PASSWORD_HIBP_FAIL_CLOSED }
      : undefined,
  }
}

const NONE: ReadonlySet<string> = new Set()
const WORD_LENGTH_MIN = 4

/** Reads common passwords of at least 4 characters, in lower case. */
function loadCommonPasswords(): ReadonlySet<string> {
  const text = readFileSync(new URL('../passwords/common-passwords.txt', import.meta.url), 'utf8')
  return new Set(text.split('\n').filter((line) => line !== '' && !line.startsWith('#')))
}

/** Returns the labels of a host that may name the service. */
function hostWords(host: string): readonly string[] {
  return host.split('.').filter((label) => label.length >= WORD_LENGTH_MIN && !/^\d+$/.test(label))
}

function positiveDuration(): z.ZodType<number, string> {
  return duration()
    .refine((ms) => ms > 0, { error: 'must be a positive duration' })
    .meta({ allowed: 'more than 0' })
}

export const signupSettings = group('Signing up', {
  DISABLE_SIGNUP: flag().prefault('false').describe('Let nobody sign up: users are invited, or made by an admin.'),
  EXTERNAL_EMAIL_ENABLED: flag().prefault('true').describe('Let users sign up and sign in by email.'),
  EXTERNAL_PHONE_ENABLED: flag().prefault('false').describe('Let users sign up and sign in by phone.'),
  EXTERNAL_ANONYMOUS_USERS_ENABLED: flag().prefault('false').describe('Let users sign in anonymously.'),
  SECURITY_MANUAL_LINKING_ENABLED: flag()
    .prefault('false')
    .describe('Let users link identities to their account, and unlink them.'),
})

type SignupValues = SettingValues<typeof signupSettings> & SettingValues<typeof serverSettings> & ProfileValues

export interface SignupConfig {
  readonly disabled: boolean
  readonly emailEnabled: boolean
  readonly phoneEnabled: boolean
  readonly anonymousEnabled: boolean
  readonly redirects: RedirectPolicy
  /** Whether a flow may end with the session in the URL fragment, or must use the code of a PKCE flow. */
  readonly pkce: 'optional' | 'required'
  /** Whether the first confirmation removes the account's password and sessions, which may belong to an attacker. */
  readonly confirmerOwnsAccount: boolean
  /**
   * Whether a correct password gets the answer that the account is not confirmed. This would show an attacker who signed up
   * whether the owner of the address has confirmed.
   */
  readonly revealsUnconfirmed: boolean
  /** The hosts that links may use instead of the host of `externalUrl`, in lower case. */
  readonly linkHosts: string[]
}

export function toSignupConfig(
  values: SignupValues,
  { compareSiteRedirectsBy }: Pick<CompatibilityOptions, 'compareSiteRedirectsBy'>,
): SignupConfig {
  const isStrict = values.PROFILE === 'strict'
  return {
    disabled: values.DISABLE_SIGNUP,
    emailEnabled: values.EXTERNAL_EMAIL_ENABLED,
    phoneEnabled: values.EXTERNAL_PHONE_ENABLED,
    anonymousEnabled: values.EXTERNAL_ANONYMOUS_USERS_ENABLED,
    redirects: { siteUrl: values.SITE_URL, site: compareSiteRedirectsBy, allowList: values.URI_ALLOW_LIST },
    pkce: isStrict ? ('required' as const) : ('optional' as const),
    confirmerOwnsAccount: isStrict,
    revealsUnconfirmed: !isStrict,
    linkHosts: values.MAILER_EXTERNAL_HOSTS.map((host) => host.toLowerCase()),
  }
}
