import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, duration, flag, integer, text } from '@trestle/common/config/setting.ts'
import type { z } from 'zod'
import { loadCommonPasswords } from '../passwords/common-passwords.ts'
import { type PasswordPolicy, parseRequiredCharacters } from '../passwords/password-policy.ts'
import type { ProfileValues } from './profile.ts'

/** Contract 1.4, what concerns sessions and their tokens. */
export const sessionSettings = {
  SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: flag().default(true),
  SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: duration().default(10_000),
  SESSIONS_TIMEBOX: positiveDuration().optional(),
  SESSIONS_INACTIVITY_TIMEOUT: positiveDuration().optional(),
  SESSIONS_ALLOW_LOW_AAL: positiveDuration().optional(),
  SESSIONS_FRESH_FOR: positiveDuration().optional(),
  SESSIONS_SINGLE_PER_USER: flag().default(false),
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: flag().default(false),
} as const

/** Contract 1.4, what concerns passwords. */
export const passwordSettings = {
  PASSWORD_MIN_LENGTH: integer(0, 72).default(6),
  PASSWORD_REQUIRED_CHARACTERS: text().default(''),
  PASSWORD_FORBIDDEN_WORDS: commaList().default([]),
  PASSWORD_HIBP_ENABLED: flag().default(false),
  PASSWORD_HIBP_FAIL_CLOSED: flag().default(false),
  PASSWORD_HIBP_USER_AGENT: text().default('auth'),
} as const

const PASSWORD_LENGTH_MIN = 6

export type SessionConfig = ReturnType<typeof toSessionConfig>

export function toSessionConfig(values: SettingValues<typeof sessionSettings>) {
  return {
    /** Whether the use of a spent token revokes its whole family. */
    revokeFamilyOnReuse: values.SECURITY_REFRESH_TOKEN_ROTATION_ENABLED,
    reuseIntervalMs: values.SECURITY_REFRESH_TOKEN_REUSE_INTERVAL,
    timeboxMs: values.SESSIONS_TIMEBOX,
    inactivityTimeoutMs: values.SESSIONS_INACTIVITY_TIMEOUT,
    /** Life of an aal1 session of a user who has a verified second factor. */
    lowAalMs: values.SESSIONS_ALLOW_LOW_AAL,
    /** How long after it was proven a session may change what sign-ins rest on; undefined: while it lives. */
    freshForMs: values.SESSIONS_FRESH_FOR,
    singlePerUser: values.SESSIONS_SINGLE_PER_USER,
    /** Ruling R6: whether every bearer endpoint asks for a live session. */
    enforceOnAccessToken: values.SESSIONS_ENFORCE_ON_ACCESS_TOKEN,
  }
}

export interface PasswordConfig {
  readonly policy: PasswordPolicy
  /** Whether the passwords that admins give to new users must meet it too. */
  readonly policyBindsAdmins: boolean
  /** How the list of breached passwords is asked; undefined: it is not. */
  readonly breaches: BreachConfig | undefined
}

export interface BreachConfig {
  readonly userAgent: string
  /** Whether nobody may set a password while the list is away. */
  readonly failsClosed: boolean
}

type PasswordValues = SettingValues<typeof passwordSettings> &
  ProfileValues &
  Readonly<Record<'SITE_URL' | 'API_EXTERNAL_URL', string>>

export function toPasswordConfig(values: PasswordValues): PasswordConfig {
  const isStrict = values.PROFILE === 'strict'
  const hosts = isStrict ? [values.SITE_URL, values.API_EXTERNAL_URL].map((url) => new URL(url).hostname) : []
  return {
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

/** The labels of a host by which its service is known. */
function hostWords(host: string): readonly string[] {
  return host.split('.').filter((label) => label.length >= WORD_LENGTH_MIN && !/^\d+$/.test(label))
}

function positiveDuration(): z.ZodType<number, string> {
  return duration().refine((ms) => ms > 0, { error: 'must be a positive duration' })
}
