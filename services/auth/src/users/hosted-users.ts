import { z } from 'zod'
import { parseStoredHash } from '../passwords/stored-hash.ts'
import { parseId } from '../records/ids.ts'
import {
  Flag,
  FOR_EVER,
  type ForeignUser,
  isRedacted,
  PASSWORD_LEFT,
  SECOND_FACTORS,
  Text,
  toForeignId,
  toIdentities,
  withoutMissing,
} from './foreign-user.ts'

/** The values of a cell, which Clerk separates by a bar, and a program for tables perhaps by a comma. */
const Values = z
  .string()
  .default('')
  .transform((cell) => cell.split(/[|,;\s]+/).filter(Boolean))

/** A row of the CSV file that the dashboard of Clerk exports. */
export const ClerkUser = z
  .object({
    id: z.string().min(1),
    first_name: Text,
    last_name: Text,
    username: Text,
    primary_email_address: Text,
    primary_phone_number: Text,
    verified_email_addresses: Values,
    verified_phone_numbers: Values,
    totp_secret: Text,
    password_digest: Text,
  })
  .transform((user): ForeignUser => {
    const email = user.primary_email_address || user.verified_email_addresses[0]
    const phone = user.primary_phone_number || user.verified_phone_numbers[0]
    const hash = user.password_digest || undefined
    const isKnown = hash !== undefined && parseStoredHash(hash) !== undefined
    const passwordLeft = hash && isRedacted(hash) ? PASSWORD_LEFT.redacted : PASSWORD_LEFT.unknown
    return {
      line: withoutMissing({
        id: toForeignId('clerk', user.id),
        email,
        email_confirm: email !== undefined && user.verified_email_addresses.includes(email),
        phone,
        phone_confirm: phone !== undefined && user.verified_phone_numbers.includes(phone),
        password_hash: isKnown ? hash : undefined,
        user_metadata: withoutMissing({
          full_name: [user.first_name, user.last_name].filter(Boolean).join(' ') || undefined,
          preferred_username: user.username || undefined,
        }),
        app_metadata: { clerk_id: user.id },
      }),
      left: [...(hash && !isKnown ? [passwordLeft] : []), ...(user.totp_secret ? [SECOND_FACTORS] : [])],
    }
  })

const Attributes = z
  .array(z.object({ Name: z.string(), Value: z.string().default('') }))
  .transform((attributes) => new Map(attributes.map(({ Name, Value }) => [Name, Value])))

const Accounts = z.array(z.object({ providerName: z.string(), userId: z.union([z.string(), z.int()]) }))

/** A user of a pool of Cognito, as its command `list-users` writes them. It writes no hashes of passwords. */
export const CognitoUser = z
  .object({
    Username: z.string().min(1),
    Attributes,
    UserCreateDate: z.union([z.string(), z.number()]).nullish(),
    UserLastModifiedDate: z.union([z.string(), z.number()]).nullish(),
    Enabled: Flag,
    UserStatus: Text,
    MFAOptions: z.array(z.unknown()).nullish(),
    UserMFASettingList: z.array(z.unknown()).nullish(),
  })
  .transform((user): ForeignUser => {
    const { Username: name, Attributes: attributes } = user
    const sub = attributes.get('sub') ?? ''
    const email = attributes.get('email') || undefined
    const phone = attributes.get('phone_number') || undefined
    const accounts = readAccounts(attributes.get('identities')).map(({ providerName: provider, userId }) => ({
      provider,
      id: String(userId),
    }))
    const isForeign = user.UserStatus === 'EXTERNAL_PROVIDER'
    const own = isForeign ? [] : [...(email ? ['email'] : []), ...(phone ? ['phone'] : [])]
    const { identities, left } = toIdentities('cognito', [
      ...own.map((provider) => ({ provider, id: sub })),
      ...accounts,
    ])
    const custom = [...attributes]
      .filter(([key]) => key.startsWith('custom:'))
      .map(([key, value]) => [key.slice(7), value])
    const factors = [...(user.MFAOptions ?? []), ...(user.UserMFASettingList ?? [])]
    return {
      line: withoutMissing({
        id: parseId(sub) ?? toForeignId('cognito', sub || name),
        email,
        email_confirm: isTrue(attributes.get('email_verified')),
        phone,
        phone_confirm: isTrue(attributes.get('phone_number_verified')),
        user_metadata: withoutMissing({
          full_name: attributes.get('name') || nameOf(attributes),
          avatar_url: attributes.get('picture'),
          preferred_username: attributes.get('preferred_username'),
          ...Object.fromEntries(custom),
        }),
        app_metadata: { cognito_username: name },
        identities: identities.length > 0 ? identities : undefined,
        banned_until: user.Enabled === false ? FOR_EVER : undefined,
        created_at: fromSeconds(user.UserCreateDate),
        updated_at: fromSeconds(user.UserLastModifiedDate),
      }),
      left: [...left, ...(isForeign ? [] : [PASSWORD_LEFT.missing]), ...(factors.length > 0 ? [SECOND_FACTORS] : [])],
    }
  })

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === 'true'
}

function nameOf(attributes: ReadonlyMap<string, string>): string | undefined {
  return (
    ['given_name', 'family_name']
      .map((key) => attributes.get(key))
      .filter(Boolean)
      .join(' ') || undefined
  )
}

function readAccounts(text: string | undefined): z.output<typeof Accounts> {
  try {
    return Accounts.parse(JSON.parse(text || '[]'))
  } catch {
    return []
  }
}

/** A time that is a text, or the seconds since 1970 as older clients of Cognito write them. */
function fromSeconds(time: string | number | null | undefined): string | undefined {
  return typeof time === 'number' ? new Date(time * 1_000).toISOString() : (time ?? undefined)
}
