import { lowerAToZ } from '@trestle/common/server/lower-a-to-z.ts'
import type { AttributeMapping, CustomProviderSettings } from './custom-provider.ts'
import { InexactNumber, toForeignKey } from './foreign-json.ts'
import type { ExternalProfile, IdTokenClaims, ListedEmail } from './provider.ts'

type Attribute = keyof AttributeMapping

/**
 * The profile of a user at a custom provider, from the claims of one answer, or of several about the same user. What an earlier
 * one does not tell, a later one completes.
 */
export function toCustomProfile(
  settings: CustomProviderSettings,
  parts: readonly [IdTokenClaims, ...IdTokenClaims[]],
): ExternalProfile {
  const { attribute_mapping: mapping, custom_claims_allowlist: names } = settings
  const read = (name: Attribute) => findFirst(parts, (claims) => readAttribute(mapping, claims, name))
  const custom = names.flatMap((name): [string, unknown][] => {
    const value = findFirst(parts, (claims) => (Object.hasOwn(claims, name) ? claims[name] : undefined))
    return value === undefined ? [] : [[name, value]]
  })
  return {
    subject: findFirst(parts, (claims) => toForeignKey(findClaim(mapping, claims, 'sub')) || undefined) ?? '',
    emails: [toEmail(mapping, parts)],
    name: read('name'),
    fullName: read('full_name'),
    picture: read('picture'),
    avatarUrl: read('avatar_url'),
    userName: read('user_name'),
    preferredUsername: read('preferred_username'),
    nickname: read('nickname'),
    // supabase/auth has none where a custom provider sends none of those that are allowed.
    ...(custom.length > 0 && { customClaims: Object.fromEntries(custom) }),
  }
}

/** Whether claims name an address, and say whether it is verified. */
export function describesEmail({ attribute_mapping: mapping }: CustomProviderSettings, claims: IdTokenClaims): boolean {
  return readAttribute(mapping, claims, 'email') !== undefined && readVerified(mapping, claims) !== undefined
}

/**
 * The address, and whether the answer that names it vouches for it. An answer that names no address, or the
 * same one, may complete an answer that says nothing of the verification.
 */
function toEmail(mapping: AttributeMapping, parts: readonly IdTokenClaims[]): ListedEmail {
  const from = parts.findIndex((claims) => readAttribute(mapping, claims, 'email') !== undefined)
  const [carrier = {}, ...later] = parts.slice(from)
  const email = readAttribute(mapping, carrier, 'email')
  if (from === -1 || email === undefined) return { email: undefined, isVerified: false }
  const vouching = [carrier, ...later].filter((claims) => {
    const own = findClaim(mapping, claims, 'email') ?? ''
    // What is no text, such as a list, may name another address.
    return own === '' || lowerAToZ(readAttribute(mapping, claims, 'email') ?? '') === lowerAToZ(email)
  })
  return { email, isVerified: findFirst(vouching, (claims) => readVerified(mapping, claims)) === true }
}

function findFirst<Part, Found>(parts: readonly Part[], find: (part: Part) => Found | undefined): Found | undefined {
  for (const part of parts) {
    const found = find(part)
    if (found !== undefined) return found
  }
  return undefined
}

/** An attribute as text, also of a number or a boolean. Undefined where it is missing or empty. */
function readAttribute(mapping: AttributeMapping, claims: IdTokenClaims, name: Attribute): string | undefined {
  const value = findClaim(mapping, claims, name)
  const isText = ['string', 'number', 'boolean'].includes(typeof value) || value instanceof InexactNumber
  return isText && value !== '' ? String(value) : undefined
}

/** Whether an answer calls its address verified. Undefined where it says nothing. A text, such as `true`, says nothing. */
function readVerified(mapping: AttributeMapping, claims: IdTokenClaims): boolean | undefined {
  const value = findClaim(mapping, claims, 'email_verified')
  return typeof value === 'boolean' ? value : undefined
}

function findClaim(mapping: AttributeMapping, claims: IdTokenClaims, name: Attribute): unknown {
  const source = mapping[name] ?? name
  return source.startsWith('/') ? resolvePointer(claims, source) : claims[source]
}

/** Finds a value by JSON pointer (RFC 6901). */
function resolvePointer(document: unknown, pointer: string): unknown {
  const steps = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<unknown>(
    (value, step): unknown =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined,
    document,
  )
}
