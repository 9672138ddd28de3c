import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { toUuid } from '../records/ids.ts'
import { normaliseEmail, normalisePhone } from '../requests/identifier.ts'
import { readTypedPhone } from '../requests/typed-phone.ts'

/** The other programs whose exports `users import` reads. */
export const FOREIGN_SOURCES = ['firebase', 'auth0', 'keycloak', 'clerk', 'cognito'] as const
/** A program whose exports `users import` reads, as the option `--from` names it. */
export type ForeignSource = (typeof FOREIGN_SOURCES)[number]

/** A user of another program, as a line of an import, and what the line does not bring. */
export interface ForeignUser {
  readonly line: Readonly<Record<string, unknown>>
  /** The members that are left behind, in words for the operator. They quote nothing of the user. */
  readonly left: readonly string[]
}

/** The end of a ban without an end. */
export const FOR_EVER = '9999-12-31T00:00:00Z'
/** The note of an import about users whose second factors it leaves out. */
export const SECOND_FACTORS = 'second factors: the user has to enrol them anew'

/** The notes of an import about passwords that it leaves out. */
export const PASSWORD_LEFT = {
  redacted: 'the password: the export has its hash redacted',
  missing: 'the password: the export has no hash of it',
  saltless: 'the password: its hash has no salt',
  unknown: 'the password: its hash has a form that is not known here',
  temporary: 'the password: it is temporary, and the user has to set a new one',
  elsewhere: 'the password: a directory beside Keycloak has it',
} as const

const PASSWORD_NOTES: ReadonlySet<string> = new Set(Object.values(PASSWORD_LEFT))

/** Whether a note of an import is about a password that the user has there. */
export function isPasswordLeft(note: string): boolean {
  return PASSWORD_NOTES.has(note)
}

/** Whether a text stands where the program that wrote the export has left out a hash, be it in base64. */
export function isRedacted(hash: string): boolean {
  return [hash, Buffer.from(hash, 'base64').toString()].some((text) => REDACTED.test(text))
}

const REDACTED = /^(?:[*•x]{3,}|\W*(?:redacted|masked|hidden|removed)\W*)$/iu

/** The names of providers here, by their names there. Other providers give a user another id. */
const PROVIDERS: Readonly<Record<ForeignSource, ReadonlyMap<string, string>>> = {
  firebase: toMap({
    'google.com': 'google',
    'facebook.com': 'facebook',
    'github.com': 'github',
    'twitter.com': 'twitter',
    'apple.com': 'apple',
  }),
  auth0: toMap({
    'google-oauth2': 'google',
    facebook: 'facebook',
    github: 'github',
    twitter: 'twitter',
    apple: 'apple',
    bitbucket: 'bitbucket',
  }),
  keycloak: toMap({
    google: 'google',
    facebook: 'facebook',
    github: 'github',
    gitlab: 'gitlab',
    twitter: 'twitter',
    bitbucket: 'bitbucket',
  }),
  clerk: new Map(),
  cognito: toMap({ Google: 'google', Facebook: 'facebook', SignInWithApple: 'apple' }),
}

/** The names as a Map, because the inherited members of an object would be names too. */
function toMap(pairs: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(pairs))
}

/** A text, or null or nothing where there is none. */
export const Text = z.string().nullish()
/** A flag, which may be missing, or a text as some exports have it. */
export const Flag = z.union([z.boolean(), z.stringbool({ truthy: ['true', 't'], falsy: ['false', 'f', ''] })]).nullish()
/** A time in milliseconds, which may be a text. */
export const Millis = z.union([z.string(), z.number()]).nullish()
/** Members of any form. */
export const Members = z.record(z.string(), z.unknown()).nullish()

interface Account {
  readonly provider: string
  readonly id: string | null | undefined
  readonly data?: object
}

/** Accounts at providers as identities, and the names of the accounts that have no provider here. */
export function toIdentities(
  source: ForeignSource,
  accounts: readonly Account[],
): { readonly identities: readonly object[]; readonly left: readonly string[] } {
  const known = PROVIDERS[source]
  const isOwn = ({ provider }: Account) => provider === 'email' || provider === 'phone'
  return {
    identities: accounts.flatMap(({ provider, id, data = {} }) => {
      const name = known.get(provider)
      if (isOwn({ provider, id })) return [{ provider, identity_data: data }]
      return name === undefined ? [] : [{ provider: name, provider_id: id, identity_data: data }]
    }),
    left: accounts
      .filter((account) => !isOwn(account) && !known.has(account.provider))
      .map(({ provider }) => `the account at ${provider}`),
  }
}

/** Leaves out members that are undefined or null. */
export function withoutMissing(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null))
}

/** An object in a text; empty where the text has none. */
export function toObject(text: string | null | undefined): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text || '{}'))
  } catch {
    return {}
  }
}

/** A time in milliseconds as a text. */
export function fromMillis(millis: string | number | null | undefined): string | undefined {
  const ms = Number(millis ?? Number.NaN)
  return Number.isFinite(ms) ? new Date(ms).toISOString() : undefined
}

/**
 * The id here of a user of another program: always the same one, so that a second run knows the user again, and takes nobody else
 * who has the same email for them.
 */
export function toForeignId(source: ForeignSource, id: string): string {
  return toUuid(createHash('sha256').update(`${source}:${id}`).digest())
}

const ADDRESSES = [
  { member: 'email', confirm: 'email_confirm', reason: IMPORT_TEXTS.emailOfVerified },
  { member: 'phone', confirm: 'phone_confirm', reason: IMPORT_TEXTS.phoneOfVerified },
] as const

type Line = ForeignUser['line']

/** The addresses that users of an export have verified, in the form of this service. */
export interface VerifiedAddresses {
  readonly email: Set<string>
  readonly phone: Set<string>
  /** Whether two forms of a phone number are one number here. */
  readonly parsesPhones: boolean
}

/** The verified addresses before the first user of an export. */
export function noVerifiedAddresses({ parsePhones }: Pick<Behaviours, 'parsePhones'>): VerifiedAddresses {
  return { email: new Set(), phone: new Set(), parsesPhones: parsePhones }
}

/** Adds the addresses that a user has verified. */
export function addVerified(verified: VerifiedAddresses, line: Line): void {
  for (const { member, confirm } of ADDRESSES) {
    const address = addressOf(verified, line, member)
    if (address !== undefined && line[confirm] === true) verified[member].add(address)
  }
}

/**
 * Why a user of an export must not get their address: another user of it has verified the same address. A stranger may have
 * signed up with the user's email and a password. Otherwise the stranger would be in the account before its owner.
 * @param verified the addresses of all users of the export
 * @returns undefined where no other user has verified an address of the user
 */
export function findContest(verified: VerifiedAddresses, line: Line): string | undefined {
  const contested = ADDRESSES.find(({ member, confirm }) => {
    const address = addressOf(verified, line, member)
    return address !== undefined && line[confirm] !== true && verified[member].has(address)
  })
  return contested?.reason
}

/** An address of a line as this service compares it. */
function addressOf(
  { parsesPhones }: Pick<VerifiedAddresses, 'parsesPhones'>,
  line: Line,
  member: 'email' | 'phone',
): string | undefined {
  const value = line[member]
  if (typeof value !== 'string' || value === '') return undefined
  if (member === 'email') return normaliseEmail(value)
  if (!parsesPhones) return normalisePhone(value)
  const typed = readTypedPhone(value)
  return typed?.parsed ?? typed?.digits
}
